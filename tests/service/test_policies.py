"""The policy of a project: its versions, what it refuses, and what verdicts, lists and warnings make of it."""

from __future__ import annotations

import itertools
import json

import pytest

from repro_env.comparability.levels import Level
from repro_env.comparability.policy import NO_POLICY, Policy
from repro_env.comparability.rules import RULES_BY_ID
from repro_env_service import policies
from repro_env_service.tables import PolicyVersion

POLICY = "/v1/projects/vision/policy"
BASELINE = "/v1/projects/vision/baseline"
FOUR = {"threads.torch_intraop": 4}
RULE = "torch-threads"
THREADS = sorted(rule.id for rule in RULES_BY_ID.values() if rule.cause == "thread_count")
WAIVED = {"name": "vision", "waive": dict.fromkeys(THREADS, "every result is rounded to three digits")}
COMPARE = "/v1/comparisons?left=r1&right=r2"


def test_the_rule_that_these_tests_waive_is_what_four_threads_meet(api, observation):
    api.send(observation())
    api.send(observation("o2", "r2", **FOUR))
    assert RULE in [reason["rule"] for reason in api.get(f"{COMPARE}&level=bitwise").json()["reasons"]]


class TestVersions:
    """What is stored: one version after another, each as it was sent."""

    def test_the_first_policy_is_version_one_and_is_given_back_as_it_was_sent(self, api):
        answer = api.put(POLICY, WAIVED)
        assert (answer.status_code, answer.headers["etag"]) == (201, '"1"')
        told = answer.json()
        assert (told["project"], told["version"], told["name"], told["policy"]) == ("vision", 1, "vision", WAIVED)
        assert told["digest"] == Policy.parse(WAIVED, RULES_BY_ID).digest
        assert told["notes"] == []
        assert api.get(POLICY).json() == told
        assert api.get(f"{POLICY}/versions/1").json() == told

    def test_the_same_content_is_the_same_version_however_it_is_laid_out(self, api):
        api.put(POLICY, WAIVED)
        again = api.put(POLICY, json.dumps(dict(reversed(WAIVED.items())), indent=4).encode())
        assert (again.status_code, again.json()["version"], api.rows()["policies"]) == (200, 1, 1)

    def test_a_reason_in_other_words_is_a_new_version_that_acts_alike(self, api):
        first = api.put(POLICY, WAIVED).json()
        second = api.put(POLICY, {**WAIVED, "waive": dict.fromkeys(THREADS, "we compare two digits")}).json()
        assert (second["version"], second["digest"]) == (2, first["digest"])

    def test_what_was_in_force_before_comes_back_as_a_version_of_its_own(self, api):
        for policy in (WAIVED, {}, WAIVED):
            assert api.put(POLICY, policy).status_code == 201
        listed = api.get(f"{POLICY}/versions").json()
        assert [row["version"] for row in listed["versions"]] == [3, 2, 1]
        assert listed["versions"][0]["digest"] == listed["versions"][2]["digest"] != listed["versions"][1]["digest"]
        assert api.get(POLICY).json()["version"] == 3
        assert api.get(f"{POLICY}/versions/2").json()["policy"] == {}

    def test_pages_of_versions_hold_every_version_once(self, api):
        for number in range(5):
            api.put(POLICY, {"name": f"v{number}"})
        path, seen = f"{POLICY}/versions?limit=2", []
        while path:
            page = api.get(path).json()
            seen += [row["version"] for row in page["versions"]]
            path = page["next"]
        assert seen == [5, 4, 3, 2, 1]

    @pytest.mark.parametrize("path", [POLICY, f"{POLICY}/versions", f"{POLICY}/versions/1"])
    def test_a_project_without_a_policy_says_so(self, api, path):
        answer = api.get(path)
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/no-policy")
        assert "PUT /v1/projects" in answer.json()["remedy"]

    @pytest.mark.parametrize("version", ["0", "-1", "two", str(2**53)])
    def test_a_version_that_is_no_count_is_refused(self, api, version):
        api.put(POLICY, {})
        assert api.get(f"{POLICY}/versions/{version}").json()["type"] == "/problems/invalid-request"

    def test_a_policy_survives_a_restart(self, make_api, tmp_path):
        first = make_api(tmp_path)
        before = first.put(POLICY, WAIVED).json()
        first.storage.close()
        assert make_api(tmp_path).get(POLICY).json() == before


class TestIfMatch:
    """A change may say which version it is a change of."""

    @pytest.mark.parametrize(("header", "status"), [('"2"', 201), ('"1"', 412), ('"1", "2"', 201), ("*", 201),
                                                    ("2", 412), ('W/"2"', 412), ("", 412), ('"02"', 412)])
    def test_the_version_in_force_must_be_the_one_that_is_named(self, api, header, status):
        api.put(POLICY, {"name": "one"})
        api.put(POLICY, {"name": "two"})
        answer = api.put(POLICY, {"name": "three"}, **{"If-Match": header})
        assert answer.status_code == status
        assert api.get(POLICY).json()["name"] == ("three" if status == 201 else "two")
        if status == 412:
            assert (answer.json()["type"], answer.json()["field"]) == ("/problems/other-version", "If-Match")

    def test_a_change_that_is_sent_again_is_answered_as_done(self, api):
        api.put(POLICY, {"name": "one"})
        for status in (201, 200):
            answer = api.put(POLICY, {"name": "two"}, **{"If-Match": '"1"'})
            assert (answer.status_code, answer.json()["version"]) == (status, 2)

    @pytest.mark.parametrize("header", ["*", '"1"'])
    def test_where_there_is_none_no_version_matches(self, api, header):
        answer = api.put(POLICY, {}, **{"If-Match": header})
        assert (answer.status_code, api.rows()["policies"]) == (412, 0)
        assert "none is" in answer.json()["detail"]


@pytest.mark.parametrize(("body", "field"), [
    ({"waive": {"no-such-rule": "why"}}, "policy.waive.no-such-rule"),
    ({"waive": {RULE: " "}}, f"policy.waive.{RULE}"),
    ({"waive": {RULE: None}}, f"policy.waive.{RULE}"),
    ({"levels": {RULE: {"guaranteed": "none"}}}, f"policy.levels.{RULE}.reason"),
    ({"levels": {RULE: {"guaranteed": "best", "reason": "why"}}}, f"policy.levels.{RULE}.guaranteed"),
    ({"levels": {RULE: {"guaranteed": "bitwise", "expected": "none", "reason": "why"}}}, f"policy.levels.{RULE}"),
    ({"levels": {"no-such-rule": {"guaranteed": "none", "reason": "why"}}}, "policy.levels.no-such-rule"),
    ({"vary": ["no-such-word"]}, "policy.vary"), ({"vary": "seed"}, "policy.vary"), ({"vary": [1]}, "policy.vary"),
    ({"require": "best"}, "policy.require"), ({"colour": 1}, "policy.colour"), ({"name": 1}, "policy.name"),
    ({"name": "n" * 129}, "policy.name"), ([], "policy"), ("waive", "policy")])
def test_what_is_no_policy_is_refused_with_its_field(api, body, field):
    answer = api.put(POLICY, body)
    told = answer.json()
    assert (answer.status_code, told["type"], told["field"]) == (422, "/problems/invalid-policy", field)
    assert api.rows()["policies"] == 0


@pytest.mark.parametrize(("body", "line"), [
    ({"name": "ours", "waive": {"torch-threads": "why", "no-such-rule": "why"}}, 5),
    ({"levels": {RULE: {"reason": "why", "guaranteed": "best"}}}, 5), ({"vary": ["seed", "no-such-word"]}, 2)])
def test_a_fault_is_told_with_its_line(api, body, line):
    assert api.put(POLICY, json.dumps(body, indent=1).encode()).json()["detail"].startswith(f"line {line}: policy.")
    assert api.put(POLICY, body).json()["detail"].startswith("policy.")


@pytest.mark.parametrize("body", [{"name": "\ud800"}, {"waive": {RULE: "\ud800"}}, {"waive": {RULE: "a\x00"}}])
def test_text_that_cannot_be_kept_is_refused(api, body):
    assert api.put(POLICY, body).status_code in (400, 422)
    assert api.post("/v1/comparisons", {"runs": ["a", "b"], "policy": body}).status_code in (400, 404, 422)


@pytest.mark.parametrize(("body", "status", "kind"), [
    (b'{"name": "a", "name": "b"}', 400, "invalid-json"), (b"{", 400, "invalid-json"),
    (b'{"waive": {"' + b"x" * (1 << 20) + b'": "y"}}', 413, "too-large"),
    (json.dumps({"waive": {RULE: "y" * (1 << 17)}}).encode(), 413, "too-large")])
def test_a_body_that_cannot_be_taken_is_refused(api, body, status, kind):
    answer = api.put(POLICY, body)
    assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{kind}")
    assert api.rows()["policies"] == 0


@pytest.mark.parametrize(("baseline", "kind"), [("nope", "unknown-run"), ("manifest:a/1", "unknown-manifest"),
                                                ("manifest:", "unknown-manifest")])
def test_a_policy_with_an_unknown_baseline_is_refused(api, baseline, kind):
    answer = api.put(POLICY, {"baseline": baseline})
    assert (answer.status_code, answer.json()["type"], api.rows()["policies"]) == (404, f"/problems/{kind}", 0)


class TestVerdicts:
    """A comparison of two runs of one project is made under its policy."""

    @pytest.fixture(autouse=True)
    def runs(self, api, observation):
        api.send(observation())
        api.send(observation("o2", "r2", **FOUR))
        api.send(observation("o3", "r3", **FOUR, **{"capture.project": "speech"}))
        api.send(observation("o4", "r4", **FOUR, **{"capture.project": None}))

    def test_a_waived_rule_is_told_and_lowers_nothing(self, api):
        before = api.get(f"{COMPARE}&level=bitwise").json()
        assert (before["answer"], before["terms"], before["in_force"]["version"]) == ("no", {}, None)
        api.put(POLICY, WAIVED)
        after = api.get(f"{COMPARE}&level=bitwise").json()
        assert RULE not in [reason["rule"] for reason in after["reasons"]]
        assert [RULE, WAIVED["waive"][RULE]] in after["waived"]
        assert after["terms"] == WAIVED
        assert (after["in_force"]["project"], after["in_force"]["version"], after["in_force"]["name"]) == (
            "vision", 1, "vision")
        assert after["policy"] == after["in_force"]["digest"] != before["policy"]

    def test_other_projects_and_runs_without_one_are_judged_without_it(self, api):
        api.put(POLICY, WAIVED)
        for right in ("r3", "r4"):
            told = api.get(f"/v1/comparisons?left=r1&right={right}&level=bitwise").json()
            assert (told["answer"], told["in_force"]["project"], told["policy"]) == ("no", None, NO_POLICY.digest)

    def test_none_can_be_asked_for(self, api):
        before = api.get(COMPARE).json()
        api.put(POLICY, WAIVED)
        assert api.get(f"{COMPARE}&policy=none").json() == before

    def test_the_project_of_the_observed_run_can_be_asked_for(self, api):
        api.put(POLICY, WAIVED)
        told = api.get("/v1/comparisons?left=r3&right=r1&policy=project").json()
        assert told["in_force"]["project"] == "vision"
        missing = api.get("/v1/comparisons?left=r1&right=r3&policy=project")
        assert (missing.status_code, missing.json()["type"]) == (404, "/problems/no-policy")
        assert "speech" in missing.json()["detail"]
        assert api.get("/v1/comparisons?left=r1&right=r4&policy=project").json()["in_force"]["project"] == "vision"
        none = api.get("/v1/comparisons?left=r4&right=r4&policy=project")
        assert (none.status_code, none.json()["type"]) == (404, "/problems/no-policy")

    def test_a_manifest_belongs_to_any_project(self, api, observation):
        api.put("/v1/manifests/base/1", observation("m", vantage="image"))
        api.put(POLICY, WAIVED)
        told = api.get("/v1/comparisons?left=manifest:base/1&right=r1").json()
        assert told["in_force"]["project"] == "vision"
        assert api.get("/v1/runs/r1/conformance?manifest=base/1").json()["verdict"]["in_force"] == told["in_force"]

    def test_the_required_level_is_the_default_and_one_that_is_named_wins(self, api):
        api.put(POLICY, {"require": "statistical"})
        assert api.get(COMPARE).json()["level"] == "statistical"
        assert api.get(f"{COMPARE}&question=repeat").json()["level"] == "statistical"
        assert api.get(f"{COMPARE}&level=bitwise").json()["level"] == "bitwise"
        assert api.get(f"{COMPARE}&policy=none").json()["level"] == "curve"

    def test_changed_levels_are_those_of_the_reason(self, api):
        api.put(POLICY, {"levels": {RULE: {"guaranteed": "none", "expected": "none", "reason": "ours diverge"}}})
        told = api.get(COMPARE).json()
        reason = next(reason for reason in told["reasons"] if reason["rule"] == RULE)
        assert (reason["guaranteed"], reason["expected_level"], told["expected"]) == ("none", "none", "none")

    def test_what_varies_is_listed_and_not_judged(self, api):
        api.put(POLICY, {"vary": ["threads"]})
        told = api.get(f"{COMPARE}&level=bitwise").json()
        assert [row["word"] for row in told["varied"]][:1] == ["threads"]
        assert RULE not in [reason["rule"] for reason in told["reasons"]]

    @pytest.mark.parametrize("query", ["vary=threads", "vary=seed,threads", "vary=seed&vary=threads",
                                       "vary=%20threads%20,", f"vary={RULE}"])
    def test_words_of_the_request_vary_beside_those_of_the_policy(self, api, query):
        api.put(POLICY, {"name": "ours", "vary": ["seed"]})
        told = api.get(f"{COMPARE}&level=bitwise&question=repeat&{query}").json()
        assert told["terms"]["vary"][0] == "seed"
        assert RULE not in [reason["rule"] for reason in told["reasons"]]
        assert (told["in_force"]["version"], told["policy"]) == (1, told["in_force"]["digest"])

    @pytest.mark.parametrize("query", ["vary=no-such-word", "vary=" + "a" * 101, "vary=" + "seed," * 51])
    def test_words_that_cover_nothing_or_are_too_many_are_refused(self, api, query):
        for path in (COMPARE, "/v1/runs/r1/comparable?level=curve"):
            answer = api.get(f"{path}&{query}")
            assert (answer.status_code, answer.json()["field"]) == (422, "vary")

    @pytest.mark.parametrize("policy", ["", "mine", "Project"])
    def test_another_word_for_the_policy_is_refused(self, api, policy):
        assert api.get(f"{COMPARE}&policy={policy}").json()["type"] == "/problems/invalid-request"

    def test_the_verdict_names_the_observations_it_rests_on(self, api):
        told = api.get(COMPARE).json()
        stored = {name: api.get(f"/v1/runs/{name}").json()["entries"] for name in ("r1", "r2")}
        assert [side["name"] for side in told["sides"]] == ["r1", "r2"]
        for side in told["sides"]:
            assert side["observations"] == [entry["observation_id"] for entry in stored[side["name"]]]
            assert side["stacks"] == sorted({entry["digests"]["stack"] for entry in stored[side["name"]]})
            assert side["programs"] == sorted({entry["digests"]["program"] for entry in stored[side["name"]]})


CHANGES = {
    "plain": {}, "again": {}, "four": FOUR, "benchmark": {"determinism.cudnn_benchmark": True},
    "blind": {"threads.torch_intraop": {"unread": "denied"}}, "python": {"python.version": "3.12.1"},
    "kernel": {"system.kernel": "5.15.0"}, "numpy": {"frameworks.numpy.version": "1.26.4"}}
POLICIES = {
    "nothing": {}, "waiver": WAIVED, "varying": {"vary": ["threads"]}, "required": {"require": "bitwise"},
    "stricter": {"levels": {RULE: {"guaranteed": "none", "expected": "none", "reason": "ours diverge"}}},
    "looser": {"levels": {RULE: {"guaranteed": "curve", "expected": "bitwise", "possible": "bitwise",
                                 "reason": "measured here"}}}}


class TestComparableRuns:
    """Under a policy the runs comparable with one are those that the comparison guarantees."""

    @pytest.fixture(autouse=True)
    def runs(self, api, observation):
        for (name, changes), (project, vantage) in itertools.product(
                CHANGES.items(), (("vision", "process"), ("speech", "process"), ("vision", "import"))):
            run = f"{name}-{project}-{vantage}"
            api.send(observation(run, run, vantage=vantage, **changes, **{"capture.project": project}))
        self.names = [row["run_id"] for row in api.get("/v1/runs?limit=200").json()["runs"]]

    @pytest.mark.parametrize("policy", POLICIES)
    def test_listed_are_exactly_the_runs_that_are_guaranteed(self, api, policy):
        api.put(POLICY, POLICIES[policy])
        for one, query in (("plain-vision-process", ""), ("four-vision-import", "&vary=python"),
                           ("four-speech-process", ""), ("four-vision-process", "&policy=none")):
            guaranteed = {other: Level.parse(api.get(f"/v1/comparisons?left={one}&right={other}{query}").json()[
                "guaranteed"]) for other in self.names if other != one}
            for level in ("bitwise", "curve", "statistical"):
                listed = {run["run_id"] for run in api.get(
                    f"/v1/runs/{one}/comparable?level={level}&limit=200{query}").json()["runs"]}
                reached = {name for name, found in guaranteed.items() if found >= Level.parse(level)}
                assert listed == reached, (one, level)

    def test_asked_for_the_project_other_projects_are_left_out(self, api):
        api.put(POLICY, WAIVED)
        path = "/v1/runs/plain-vision-process/comparable?level=bitwise&limit=200"
        everywhere, inside = ({run["run_id"] for run in api.get(path + more).json()["runs"]}
                              for more in ("", "&policy=project"))
        assert inside == {name for name in everywhere if "vision" in name}
        assert "four-vision-process" in inside
        assert "again-speech-process" in everywhere
        assert "four-speech-process" not in everywhere
        refused = api.get("/v1/runs/plain-speech-process/comparable?policy=project")
        assert refused.json()["type"] == "/problems/no-policy"

    def test_pages_hold_every_run_once_and_keep_what_was_asked(self, api):
        api.put(POLICY, WAIVED)
        path = "/v1/runs/plain-vision-process/comparable?limit=1&vary=python&policy=project"
        whole = [run["run_id"] for run in api.get(path.replace("limit=1", "limit=200")).json()["runs"]]
        seen = []
        while path:
            page = api.get(path).json()
            seen += [run["run_id"] for run in page["runs"]]
            path = page["next"]
        assert seen == whole
        assert len(whole) > 2

    def test_a_project_narrows_both_the_list_and_the_count(self, api):
        api.put(POLICY, WAIVED)
        path = "/v1/runs/plain-vision-process/comparable?level=bitwise&limit=200"
        everything = api.get(path).json()
        parts = [api.get(f"{path}&project={project}").json() for project in ("vision", "speech")]
        assert everything["undetermined"]["count"] == sum(part["undetermined"]["count"] for part in parts)
        listed = [{run["run_id"] for run in answer["runs"]} for answer in (everything, *parts)]
        assert listed[0] == listed[1] | listed[2]

    def test_what_a_waiver_settles_is_no_longer_open(self, api):
        path = "/v1/runs/plain-vision-process/comparable?level=bitwise&project=vision"
        before = api.get(path).json()
        assert "threads.torch_intraop" in [row["path"] for row in before["undetermined"]["lacking"]]
        own = api.get("/v1/runs/blind-vision-process/comparable?level=bitwise").json()
        assert (own["key"], "threads.torch_intraop" in own["lacking"]) == (None, True)
        api.put(POLICY, WAIVED)
        after = api.get(path).json()
        assert after["undetermined"]["count"] < before["undetermined"]["count"]
        assert after["in_force"]["version"] == 1
        own = api.get("/v1/runs/blind-vision-process/comparable?level=bitwise").json()
        assert own["key"] == after["key"]
        assert own["key"] is not None


class TestBaselines:
    """Warnings are made under the policy, which may state the baseline itself."""

    def test_a_waived_difference_makes_no_warning(self, api, observation):
        api.send(observation())
        api.put(BASELINE, {"run": "r1", "level": "bitwise"})
        (warning,) = api.send(observation("o2", "r2", **FOUR)).json()["warnings"]
        assert ("policy" in warning["comparison"], warning["policy_version"]) == (False, None)
        assert api.get(warning["comparison"]).json()["headline"] == warning["headline"]
        api.put(POLICY, WAIVED)
        assert api.send(observation("o2", "r2", **FOUR)).json()["warnings"] == []

    def test_the_warning_leads_to_the_verdict_it_was_made_from_also_over_projects(self, api, observation):
        api.send(observation(**{"capture.project": "speech"}))
        api.put(BASELINE, {"run": "r1"})
        api.put(POLICY, {"require": "bitwise", "vary": ["python"]})
        (warning,) = api.send(observation("o2", "r2", **FOUR)).json()["warnings"]
        verdict = api.get(warning["comparison"]).json()
        assert (verdict["headline"], verdict["answer"], verdict["level"]) == (
            warning["headline"], warning["answer"], "bitwise")
        assert (verdict["in_force"]["project"], warning["policy_version"]) == ("vision", 1)

    def test_the_policy_states_the_baseline_before_the_one_that_was_set(self, api, observation):
        for name in ("r1", "r2", "r3"):
            api.send(observation(name, name, **(FOUR if name == "r1" else {})))
        api.put(BASELINE, {"run": "r1", "level": "bitwise"})
        api.put(POLICY, {"baseline": "r2", "require": "bitwise"})
        held = api.get(BASELINE).json()
        assert (held["run"], held["source"], held["level"]) == ("r2", "policy", "bitwise")
        assert api.send(observation("r3", "r3")).json()["warnings"] == []
        refused = api.put(BASELINE, {"run": "r3"})
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/baseline-in-policy")
        api.put(POLICY, {})
        held = api.get(BASELINE).json()
        assert (held["run"], held["source"], held["level"]) == ("r1", "baseline", "bitwise")
        assert api.send(observation("r3", "r3")).json()["warnings"] != []

    def test_a_manifest_can_be_the_baseline_of_a_policy(self, api, observation):
        api.put("/v1/manifests/base/1", observation("m", vantage="image", machine="h100"))
        api.put(POLICY, {"baseline": "manifest:base/1"})
        assert api.get(BASELINE).json()["manifest"] == "base/1"
        api.send(observation("o2", "r2", machine="h100"))
        assert api.get("/v1/runs/r2/conformance").json()["found"] == "baseline"

    def test_a_baseline_without_a_level_follows_the_policy(self, api, observation):
        api.send(observation())
        assert api.put(BASELINE, {"run": "r1"}).json()["level"] == "curve"
        api.put(POLICY, {"require": "bitwise"})
        assert api.get(BASELINE).json()["level"] == "bitwise"
        api.put(BASELINE, {"run": "r1", "level": "statistical"})
        assert api.get(BASELINE).json()["level"] == "statistical"


def test_a_policy_of_rules_that_have_gone_holds_for_the_rest_and_says_so(api, observation):
    """A rule set may drop a rule, a word or the order of levels after a policy that names them was stored."""
    for document in (observation(), observation("o2", "r2", **FOUR)):
        api.send(document)
    api.put(POLICY, WAIVED)
    content = {"name": "old", "waive": {RULE: "why", "gone-rule": "why"}, "vary": ["gone-word", "seed"],
               "levels": {"gone-too": {"guaranteed": "none", "reason": "why"}}, "require": "statistical"}
    with api.storage.writing() as session:
        row = session.get_one(PolicyVersion, ("vision", 1))
        row.content = policies.zlib.compress(policies.encode(content))
    told = api.get(POLICY).json()
    assert told["policy"] == content
    assert sorted(note.split(" ")[0] for note in told["notes"]) == [
        "policy.levels.gone-too", "policy.vary", "policy.waive.gone-rule"]
    verdict = api.get(COMPARE).json()
    assert (verdict["level"], verdict["in_force"]["notes"]) == ("statistical", told["notes"])
    assert [RULE, "why"] in verdict["waived"]
