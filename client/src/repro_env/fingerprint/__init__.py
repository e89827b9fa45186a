"""The document: what is recorded of one process or node at one vantage.

Owns the definition of every section (frozen dataclasses), their validation and the upgrade of older documents.
Reading the machine is left to ``probes``, writing bytes to ``canonical``, judging to ``comparability``.

Documents travel through the client as plain JSON values; the dataclasses here define and check their form. The
capture path imports only ``fingerprint.facts``: creating the dataclasses costs more than a whole capture.
"""
