"""The manifest for Kubernetes: by its schema, in what its parts must have alike, and as processes that it would start.

Usage: test_leader_worker_set.py PROGRAM ROOT. Exits 77, skipped, without python3-yaml and python3-jsonschema.
"""

import copy
import json
import os
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

try:
    import jsonschema
    import yaml
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM, ROOT = sys.argv[1], Path(sys.argv[2])
SCHEMA = json.loads((Path(__file__).parent / "leader_worker_set.schema.json").read_text())
SET, SERVICE = yaml.safe_load_all((ROOT / "examples/deploy/leader_worker_set.yaml").read_text())
TEMPLATE = SET["spec"]["leaderWorkerTemplate"]
PODS = [TEMPLATE["leaderTemplate"], TEMPLATE["workerTemplate"]]
PATIENCE_S = 120


def container(pod: dict) -> dict:
    return pod["spec"]["containers"][0]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Manifest(unittest.TestCase):
    def test_keeps_to_the_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        jsonschema.Draft202012Validator(SCHEMA).validate(SET)

    def test_the_schema_finds_what_is_misspelt(self):
        for change in (
            lambda one: one["spec"].update(leaderWorkerTemplates={}),
            lambda one: one["spec"]["leaderWorkerTemplate"].update(size="2"),
            lambda one: one["spec"]["leaderWorkerTemplate"].update(restartPolicy="Always"),
            lambda one: one["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"].update(hostIpc=True),
            lambda one: one["spec"]["leaderWorkerTemplate"].pop("workerTemplate"),
            lambda one: container(one["spec"]["leaderWorkerTemplate"]["leaderTemplate"]).update(args="serve"),
        ):
            wrong = copy.deepcopy(SET)
            change(wrong)
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.Draft202012Validator(SCHEMA).validate(wrong)

    def test_a_group_has_a_pod_for_each_rank_all_on_one_node(self):
        leader, worker = map(container, PODS)
        self.assertEqual(leader["args"], worker["args"])
        self.assertEqual(leader["env"], worker["env"])
        partition = leader["args"][leader["args"].index("--partition") + 1]
        self.assertEqual(len(partition.replace("|", ",").split(",")), TEMPLATE["size"])
        self.assertEqual(SET["metadata"]["annotations"],
                         {"leaderworkerset.sigs.k8s.io/exclusive-topology": "kubernetes.io/hostname"})
        users = {(pod["spec"]["hostIPC"], pod["spec"]["securityContext"]["runAsUser"]) for pod in PODS}
        self.assertEqual(users, {(True, 1000)})

    def test_the_service_finds_the_leaders_port(self):
        leader = PODS[0]
        self.assertLessEqual(SERVICE["spec"]["selector"].items(), leader["metadata"]["labels"].items())
        self.assertFalse(SERVICE["spec"]["selector"].items() <= PODS[1]["metadata"]["labels"].items())
        self.assertIn(SERVICE["spec"]["ports"][0]["targetPort"], [port["name"] for port in container(leader)["ports"]])


class Group(unittest.TestCase):
    """The processes that LeaderWorkerSet would start, on this machine."""

    def setUp(self):
        self.port = free_port()
        world = {"LWS_GROUP_SIZE": str(TEMPLATE["size"]), "LWS_LEADER_ADDRESS": "127.0.0.1",
                 "MASTER_PORT": str(free_port()), "WEFT_SERVER_PORT": str(self.port), "WEFT_MEMORY_MAX_ROWS": "4",
                 **{one["name"]: "a secret" for one in container(PODS[0])["env"]}}
        model = str(ROOT / "examples/demo_model/model")
        self.processes = []
        for index in range(TEMPLATE["size"]):
            args = [model if one == "/model" else one for one in container(PODS[min(index, 1)])["args"]]
            self.processes.append(subprocess.Popen([PROGRAM, *args], stderr=subprocess.PIPE, text=True,
                                                   env={**os.environ, **world, "LWS_WORKER_INDEX": str(index)}))

    def tearDown(self):
        for one in self.processes:
            one.kill()
            one.communicate()

    def get(self, path: str, body: dict | None = None) -> bytes:
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data,
                                         {"Content-Type": "application/json"} if body else {})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.read()

    def wait_until_ready(self):
        path = container(PODS[0])["readinessProbe"]["httpGet"]["path"]
        until = time.monotonic() + PATIENCE_S
        while True:
            self.assertIsNone(self.processes[0].poll(), "the leader has ended")
            try:
                return self.get(path)
            except (urllib.error.URLError, ConnectionError):
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)

    def test_serves_and_ends_together(self):
        self.wait_until_ready()
        answer = json.loads(self.get("/v1/completions", {"prompt": "Once", "max_tokens": 4, "ignore_eos": True}))
        self.assertEqual(answer["usage"]["completion_tokens"], 4)
        for one in self.processes:  # Kubernetes tells all pods at once
            one.send_signal(signal.SIGTERM)
        self.assertEqual([one.wait(PATIENCE_S) for one in self.processes], [0] * TEMPLATE["size"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
