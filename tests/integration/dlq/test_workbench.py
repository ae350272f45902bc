"""Dead letters of a running sink: seen, tested, replayed, each once, whatever is killed."""

import json
from collections import Counter

from tests.integration.dlq.conftest import LETTERS
from tests.support.topics import Out
from tests.support.waiting import wait_for
from tests.support.worker import json_lines

POISON = 10_000
JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"


def poison(n):
    """The n-th record; five causes take turns."""
    value, key, headers = {"n": n}, b'"k"', None
    match n % 5:
        case 0:
            key = b"{broken %d" % n
        case 1:
            return Out(b"<order id=%d/>" % n, key)
        case 2:
            headers = [("h", b"{broken %d" % n)]
        case 3:
            value["old"] = True
        case 4:
            value["bad"] = True
    return Out(json.dumps(value), key, headers)


def test_ten_thousand_letters_of_five_causes(
    worker, connect, start, dlq, make_topic, produce, wait_for_letters, tmp_path
):
    """Five groups with the right counts; a corrected config, tested; a replay killed twice; in
    the end every replayed record is in the sink once, and the rest is open.
    """
    topic, letters, out = make_topic("orders", 2), make_topic("orders-dlq"), tmp_path / "out.jsonl"
    config = {
        "connector.class": "CollectSink",
        "topics": topic,
        "file": str(out),
        "key.converter": JSON,
        "key.converter.schemas.enable": "false",
        "header.converter": JSON,
        "header.converter.schemas.enable": "false",
        "transforms": "old,bad",
        "transforms.old.type": "FailOn",
        "transforms.old.field": "old",
        "transforms.bad.type": "FailOn",
        "transforms.bad.field": "bad",
        "errors.deadletterqueue.topic.name": letters,
        **LETTERS,
    }
    connect("orders", config)
    produce(topic, [poison(n) for n in range(POISON)])
    wait_for_letters(letters, POISON)

    [summary] = [s for s in dlq("ls") if s["topic"] == letters]
    assert summary["connectors"] == ["orders"]
    assert summary["depth"]["open"] == POISON
    groups = dlq("stats", letters)
    assert sorted((g["stage"], g["count"]) for g in groups) == [
        ("HEADER_CONVERTER", POISON // 5),
        ("KEY_CONVERTER", POISON // 5),
        ("TRANSFORMATION", POISON // 5),
        ("TRANSFORMATION", POISON // 5),
        ("VALUE_CONVERTER", POISON // 5),
    ]
    assert {g["source_topic"] for g in groups} == {topic}

    corrected = {**config, "key.converter": STRING, "transforms": "bad"}
    candidate = tmp_path / "candidate.json"
    candidate.write_text(json.dumps(corrected))
    told = dlq("test", letters, "--config", candidate)
    passing = sum(t["count"] for t in told if t["verdict"] == "passes")
    assert passing == POISON * 2 // 5
    assert len([t for t in told if t["verdict"] == "fails"]) == 3
    assert dlq("stats", letters) == groups  # nothing was written

    worker.rest.put("/connectors/orders/config", json=corrected).raise_for_status()
    worker.wait_running("orders")
    for killed in (1, 2):
        running = start("replay", letters, "--passing", "--rate", "1500")
        wait_for(
            lambda: len(json_lines(out)) >= killed * 600,  # noqa: B023
            lambda: f"{killed * 600} records in the sink; {worker.status('orders')}",  # noqa: B023
            60,
        )
        assert running.poll() is None, "the replay was to be killed in the middle"
        running.kill()
        running.wait()
    done = dlq("replay", letters, "--passing")
    assert 0 < done["replayed"] < passing
    assert sum(done["left_open"].values()) == POISON - passing

    wait_for(lambda: len(json_lines(out)) >= passing, lambda: f"{passing} records in the sink", 60)
    assert Counter(line["v"]["n"] for line in json_lines(out)) == {
        n: 1 for n in range(POISON) if n % 5 in {0, 3}
    }
    left = dlq("stats", letters)
    assert sorted((g["stage"], g["count"]) for g in left) == [
        ("HEADER_CONVERTER", POISON // 5),
        ("TRANSFORMATION", POISON // 5),
        ("VALUE_CONVERTER", POISON // 5),
    ]
    assert sum(g["count"] for g in dlq("stats", letters, "--state", "replayed")) == passing
    assert dlq("replay", letters, "--passing")["replayed"] == 0
