"""``repro-env-service``: serve, migrate. Prints and exits here only; exit codes follow sysexits.h."""

from __future__ import annotations

import argparse
import errno
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from . import __version__
from .app import create_app
from .errors import PortTaken, StartError, WrongSetting
from .settings import DEFAULT_HOST, DEFAULT_PORT, SETTINGS, Settings, default_data_folder, from_variables
from .storage import Storage
from .upgrade import upgrade

EXIT_USAGE = 64
DRAIN_S = 15


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 64 usage, 69 port taken, 75 data folder in use, 78 newer schema."""
    try:
        options = parser().parse_args(arguments)
    except SystemExit as stop:
        return EXIT_USAGE if stop.code == 2 else int(stop.code or 0)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    try:
        code: int = options.command(settings_of(options))
        return code
    except StartError as error:
        print(f"repro-env-service: {error}", file=sys.stderr)
        return error.exit_code


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(prog="repro-env-service", description="Stores the environments of runs and answers "
                                                                        "whether their results may be compared.")
    top.add_argument("--version", action="version", version=f"repro-env-service {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    rows = {row.name: row for row in SETTINGS}
    serving = commands.add_parser("serve", help="serve on a loopback address until stopped")
    migrating = commands.add_parser("migrate", help="bring the database to the schema of this version, then exit")
    for command, names, run in ((serving, ("data", "host", "port"), serve), (migrating, ("data",), migrate)):
        for name in names:
            row = rows[name]
            command.add_argument(row.flag, dest=name, help=f"{row.meaning} (variable {row.variable})")
        command.set_defaults(command=run, host=None, port=None)
    return top


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings in force: flag, then variable, then default; raise ``StartError`` naming a wrong one."""
    flags = {row.name: getattr(options, row.name) for row in SETTINGS}
    given = {**from_variables(), **{name: value for name, value in flags.items() if value is not None}}
    host = given.get("host", DEFAULT_HOST)
    return Settings(data=Path(given.get("data") or default_data_folder()), host=check_loopback(host),
                    port=parse_port(given.get("port", str(DEFAULT_PORT))))


def parse_port(text: str) -> int:
    """Return a port number; raise ``StartError`` for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65535):
        raise WrongSetting(f"expected a port from 0 to 65535, got {text!r}")
    return int(text)


def check_loopback(host: str) -> str:
    """Return ``host`` as an address; refuse one beyond this machine: there is no authentication yet."""
    address = {"localhost": DEFAULT_HOST}.get(host, host)
    try:
        if ipaddress.ip_address(address).is_loopback:
            return address
    except ValueError:
        pass
    raise WrongSetting(f"listens on loopback only, got {host!r}: this version has no authentication, so anyone who "
                      "reaches it could read and write; use 127.0.0.1 and reach it through an SSH tunnel")


def serve(settings: Settings) -> int:
    """Serve until SIGINT or SIGTERM, then finish what was begun."""
    listener = listen(settings.host, settings.port)
    app = create_app(settings)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, log_config=None,
                                           timeout_graceful_shutdown=DRAIN_S, server_header=False))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    print(f"repro-env-service {__version__} on http://{host}:{listener.getsockname()[1]}, data in {settings.data}",
          flush=True)
    server.run(sockets=[listener])
    return 0


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise ``PortTaken`` with what to do where the address is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's delay off only on sockets that say they are TCP; with it every answer takes 40 ms more.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"port {port} on {host} is taken by another program; stop it, or choose another with "
                            "--port (0 takes a free one)") from error
        raise StartError(f"cannot listen on {host} port {port}: {error.strerror}") from error
    return listener


def migrate(settings: Settings) -> int:
    """Bring the database to the schema of this version."""
    storage = Storage(settings)
    try:
        before, after = upgrade(storage)
    finally:
        storage.close()
    done = "nothing to do" if before == after else f"from {before or 'empty'}"
    print(f"schema {after} in {settings.data} ({done})")
    return 0
