"""The Alembic migrations, one chain, packaged with the service."""
