"""The examples of the connectors' pages, posted to a real worker as they stand there.

Only addresses are put in: the test's database, service and folder, and topics of its own.
"""

import json
import re
import uuid
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest

from tests.support.http_service import http_service
from tests.support.object_store import s3_server
from tests.support.topics import Out, consume_all, read_up_to_now
from tests.support.waiting import wait_for
from tests.support.worker import read_lines, standalone

PAGES = Path(__file__).parents[3] / "docs" / "connectors"


@pytest.fixture(scope="module")
def worker(kafka, tmp_path_factory):
    with standalone(kafka, tmp_path_factory.mktemp("worker")) as running:
        yield running


@pytest.fixture
def post(worker):
    """post(name, **replacements) posts the example of that name and waits until it runs."""
    posted = []

    def create(name, **replacements):
        worker.create(name, example(name, **replacements))
        posted.append(name)
        worker.wait_running(name)

    yield create
    for name in posted:
        worker.rest.delete(f"/connectors/{name}")


def example(name, **replacements):
    """The config of that name on the pages, with other addresses."""
    texts = [
        text
        for page in PAGES.glob("*.md")
        for text in re.findall(r"```json\n(.*?)```", page.read_text(), re.DOTALL)
        if json.loads(text).get("name") == name
    ]
    assert len(texts) == 1, f"{len(texts)} examples are named {name}"
    config = json.loads(texts[0])["config"]
    for key, value in replacements.items():
        assert key.replace("_", ".") in config
        config[key.replace("_", ".")] = value
    return config


def with_schema(*rows):
    """JSON with its schema, as the JSON converter writes it."""
    fields = [
        {"field": "id", "type": "int64", "optional": False},
        {"field": "item", "type": "string", "optional": True},
    ]
    schema = {"type": "struct", "name": "Order", "fields": fields}
    return [json.dumps({"schema": schema, "payload": row}) for row in rows]


def select(database, sql):
    with psycopg.connect(database) as db:
        try:
            return db.execute(sql).fetchall()
        except psycopg.errors.UndefinedTable:
            return None


def test_orders_to_table(post, kafka, database, make_topic, produce):
    """Records reach a table that is made for them; one that does not fit is dead-lettered."""
    topic, dead = make_topic("orders"), make_topic("dlq")
    post(
        "orders-to-table", topics=topic, connection_url="jdbc:" + database.replace("penstock@", ""),
        errors_deadletterqueue_topic_name=dead,
    )  # fmt: skip
    good = with_schema({"id": 1, "item": "a"}, {"id": 2, "item": "b"}, {"id": 1, "item": "c"})
    produce(topic, [*good, *with_schema({"id": 3, "item": "zero \0 byte"})])
    table = f'SELECT id, item FROM "{topic}" ORDER BY id'
    wait_for(lambda: select(database, table) == [(1, "c"), (2, "b")], "two rows")
    (letter,) = consume_all(kafka, dead, 1)
    headers = dict(letter.headers())
    assert headers["__connect.errors.stage"] == b"TASK_PUT"
    assert b"0x00" in headers["__connect.errors.exception.message"]


def test_tables_to_topics(post, kafka, database):
    """Rows of a table reach its topic, and so does a row that is changed."""
    prefix = f"shop-{uuid.uuid4().hex[:8]}-"
    with psycopg.connect(database, autocommit=True) as db:
        db.execute(
            "CREATE TABLE customers (id serial PRIMARY KEY, name text, "
            "changed timestamptz NOT NULL DEFAULT now() - interval '1 hour')"
        )
        db.execute("INSERT INTO customers (name) VALUES ('Ada'), ('Grace')")
        post(
            "tables-to-topics", topic_prefix=prefix,
            connection_url="jdbc:" + database.replace("penstock@", ""),
        )  # fmt: skip
        topic = prefix + "customers"
        rows = wait_for(lambda: _values(kafka, topic, 2), "two rows", 60)
        assert [row["payload"]["name"] for row in rows] == ["Ada", "Grace"]
        db.execute("UPDATE customers SET name = 'Ada L.', changed = now() WHERE id = 1")
    rows = wait_for(lambda: _values(kafka, topic, 3), "the row that was changed", 60)
    assert rows[2]["payload"]["name"] == "Ada L."


def _values(kafka, topic, count):
    try:
        found = consume_all(kafka, topic)
    except (AssertionError, KeyError):  # the topic is made with its first record
        return None
    return [json.loads(message.value()) for message in found] if len(found) >= count else None


def test_orders_to_service(post, kafka, make_topic, produce):
    """Each order is put to its own address; one that the service refuses is dead-lettered."""
    topic, dead = make_topic("orders"), make_topic("dlq")
    with http_service() as service:
        service.decide = lambda asked: 503 if len(service.asked) == 1 else (
            422 if asked.path == "/orders/2" else None
        )  # fmt: skip
        post(
            "orders-to-service", topics=topic, http_api_url=service.url + "/orders/${id}",
            errors_deadletterqueue_topic_name=dead,
        )  # fmt: skip
        produce(topic, ['{"id": 1}', Out('{"id": 2}'), '{"id": 3}'])
        (letter,) = consume_all(kafka, dead, 1)
        wait_for(lambda: len(service.asked) == 4, lambda: f"four requests: {service.asked}")
        asked = [(each.method, each.path) for each in service.asked]
        source = service.asked[0].headers["X-Source"]
    assert asked == [("PUT", f"/orders/{n}") for n in (1, 1, 2, 3)]
    assert source == topic
    assert b"HTTP 422" in dict(letter.headers())["__connect.errors.exception.message"]


def test_orders_to_lake(post, make_topic, produce, tmp_path):
    """Orders are in Parquet files by day; what waits is written when time goes on."""
    topic = make_topic("orders")
    post("orders-to-lake", topics=topic, files_url=str(tmp_path))
    rows = [{"id": n, "item": "x"} for n in range(4)]
    start = 1_709_209_800_000  # 2024-02-29 12:30 UTC
    times = [start, start + 59_999, start + 60_000, start + 120_000]
    produce(
        topic,
        [Out(text, timestamp=at) for text, at in zip(with_schema(*rows), times, strict=True)],
    )
    day = tmp_path / "topics" / topic / "year=2024" / "month=02" / "day=29"
    names = [f"{topic}+0+000000000{n}.snappy.parquet" for n in (0, 2)]
    wait_for(lambda: [path.name for path in sorted(day.glob("*"))] == names, "two files")
    found = [pq.read_table(day / name, partitioning=None).to_pylist() for name in names]
    assert found == [rows[:2], rows[2:3]]


def test_orders_to_bucket(kafka, make_topic, produce, tmp_path):
    """A thousand orders are one object, by the credentials and address of the environment."""
    topic = make_topic("orders")
    with s3_server() as url:
        import s3fs  # noqa: PLC0415 - an extra

        access = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": url}
        bucket = s3fs.S3FileSystem(key="k", secret="s", endpoint_url=url, use_listings_cache=False)
        bucket.mkdir("lake")
        with standalone(kafka, tmp_path, environment=access) as worker:
            worker.create("orders-to-bucket", example("orders-to-bucket", topics=topic))
            produce(topic, [b'{"id": %d}' % n for n in range(1000)])
            (found,) = wait_for(lambda: bucket.find("lake"), "an object", 60)
            assert found == f"lake/topics/{topic}/partition=0/{topic}+0+0000000000.json"
            assert len(bucket.cat(found).splitlines()) == 1000


def test_lines_in_and_out(post, topic, tmp_path):
    """Lines of one file become records, and records lines of another."""
    into, out = tmp_path / "in.txt", tmp_path / "out.txt"
    into.write_text("one\ntwo\n")
    post("lines-in", topic=topic, file=str(into))
    post("lines-out", topics=topic, file=str(out))
    wait_for(lambda: read_lines(out) == ["one", "two"], lambda: f"two lines: {read_lines(out)}")


def test_made_up_orders(post, kafka, topic):
    """Datagen's example makes orders."""
    post("orders", kafka_topic=topic)
    made = wait_for(lambda: read_up_to_now(kafka, topic), "orders")
    assert any("orderid" in json.loads(text) for text in made if text.endswith(b"}"))
