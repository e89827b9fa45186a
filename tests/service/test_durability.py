"""What was acknowledged is there after the service is killed; racing writers of one id store it once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
from documents import complete_document

KILLS = 3
WRITERS = 6


def document(name):
    return complete_document(**{"capture.observation_id": name, "capture.run_id": f"run-{name}",
                                "capture.labels": {"name": name}})


def test_every_acknowledged_document_survives_kill_9(start_service, tmp_path):
    acknowledged: dict[str, str] = {}
    cut_off = 0
    for turn in range(KILLS):
        service = start_service(tmp_path)
        enough = threading.Event()

        def write(writer: int, service=service, turn=turn, enough=enough) -> int:
            with httpx.Client(base_url=service.address, trust_env=False, timeout=30) as client:
                for number in range(1000):
                    name = f"{turn}-{writer}-{number}"
                    try:
                        answer = client.put(f"/v1/observations/{name}", json=document(name))
                    except httpx.TransportError:
                        return 1
                    assert answer.status_code == 201, answer.text
                    acknowledged[name] = answer.json()["digests"]["document"]
                    if len(acknowledged) >= (turn + 1) * 25:
                        enough.set()
            return 0

        with ThreadPoolExecutor(WRITERS) as pool:
            writers = [pool.submit(write, writer) for writer in range(WRITERS)]
            assert enough.wait(60)
            service.kill()
            cut_off += sum(writer.result() for writer in writers)
    assert cut_off == KILLS * WRITERS, "every kill met every writer at work"
    service = start_service(tmp_path)
    with httpx.Client(base_url=service.address, trust_env=False, timeout=30) as client:
        for name, digest in acknowledged.items():
            assert client.get(f"/v1/observations/{name}").json() == document(name)
            again = client.put(f"/v1/observations/{name}", json=document(name))
            assert (again.status_code, again.json()["digests"]["document"]) == (200, digest)
    assert len(acknowledged) >= KILLS * 25


def test_racing_writers_of_one_id_store_it_once(start_service, tmp_path):
    service = start_service(tmp_path)

    def write(turn: int) -> tuple[int, str]:
        body = complete_document(**{"capture.observation_id": f"o{turn % 5}", "capture.process.pid": turn % 2})
        answer = httpx.put(f"{service.address}/v1/observations/o{turn % 5}", json=body, trust_env=False, timeout=30)
        return answer.status_code, f"o{turn % 5}"

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(write, range(60)))
    statuses = [status for status, _ in answers]
    assert sorted(name for status, name in answers if status == 201) == [f"o{number}" for number in range(5)]
    assert set(statuses) == {200, 201, 409}
