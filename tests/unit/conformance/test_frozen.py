"""What Apache Kafka Connect answered once, beside what our pipeline answers now."""

import json

from tests.conformance import offline
from tests.conformance.frozen import freeze, thaw
from tests.conformance.intended import verdict
from tests.support.cases import every

ANSWERS = thaw()


@every(ANSWERS, lambda case: case[0].title)
def test_the_pipeline_answers_as_the_oracle_did(scenario, answers):
    """Every record comes out the same, or as docs/differences.md says."""
    for n, (theirs, ours) in enumerate(zip(answers, offline.run(scenario), strict=True)):
        assert not verdict(scenario, theirs, ours).by_mistake, (
            f"case {n}\n  theirs {json.dumps(theirs)}\n  ours   {json.dumps(ours)}"
        )


def test_a_wrong_answer_is_noticed():
    """A record that differs in one value is a mistake, not an intention."""
    scenario, answers = next(pair for pair in ANSWERS if pair[0].title == "transform: cast fields")
    ours = offline.run(scenario)
    wrong = json.loads(json.dumps(ours[0]).replace('"Ann"', '"Bob"'))
    assert verdict(scenario, answers[0], ours[0]).equal
    assert verdict(scenario, answers[0], wrong).by_mistake


def test_what_is_frozen_thaws_the_same(tmp_path):
    """Scenarios and outcomes survive the file."""
    few = ANSWERS[:3]
    freeze(few, tmp_path / "few")
    again = thaw(tmp_path / "few")
    assert [(s.to_json(), o) for s, o in again] == [(s.to_json(), o) for s, o in few]
