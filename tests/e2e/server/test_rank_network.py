"""Ranks that share no memory, and so exchange numbers over the network: encrypted, and between namespaces."""

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rank_processes import PARTITIONS, Ranks

# A process with a /dev/shm of its own, as one on another machine has.
APART = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "-"]


@pytest.fixture
def encrypted(tmp_path: Path) -> dict[str, str]:
    """device.* with a certificate that is made for the test."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=ranks", "-out", "ranks.pem", "-keyout", "ranks.key"],
                   cwd=tmp_path, check=True, capture_output=True)
    return {"rank_tls_certificate": str(tmp_path / "ranks.pem"), "rank_tls_key": str(tmp_path / "ranks.key")}


def answers_and_drains(ranks: Ranks) -> None:
    ranks.expect_answer()
    ranks.terminate()
    ranks.expect_drained()


@pytest.mark.parametrize("partition", PARTITIONS)
def test_ranks_exchange_numbers_over_an_encrypted_network(tmp_path: Path, encrypted: dict[str, str], partition: str):
    with Ranks(tmp_path, partition, 2, device={**encrypted, "rank_transport": "network"}) as ranks:
        answers_and_drains(ranks)


def test_a_rank_that_is_killed_ends_what_goes_over_the_network(tmp_path: Path, encrypted: dict[str, str]):
    with Ranks(tmp_path, "cpu,cpu", 2, device={**encrypted, "rank_transport": "network"}) as ranks:
        ranks.expect_end_with_a_follower()


def test_ranks_that_see_no_memory_of_each_other_find_out(tmp_path: Path):
    if subprocess.run([*APART, "true"], capture_output=True).returncode != 0:
        pytest.skip("no namespaces are allowed here")
    with Ranks(tmp_path, "cpu,cpu", 2, follow_with=APART) as ranks:
        answers_and_drains(ranks)


NUMBERS = itertools.count()


@pytest.fixture
def machine() -> Iterator[tuple[list[str], str]]:
    """What runs a command in a network and a memory of its own, and how this machine is called there."""
    name = f"weft{os.getpid()}-{next(NUMBERS)}"[-15:]  # no interface's name is longer

    def ip(*arguments: str) -> bool:
        return subprocess.run(["ip", *arguments], capture_output=True).returncode == 0

    if shutil.which("ip") is None or os.geteuid() != 0 or not ip("netns", "add", name):
        pytest.skip("no network namespaces are allowed here")
    try:
        here, there = name[-13:] + "-0", name[-13:] + "-1"
        if not ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", name):
            pytest.skip("no virtual links are allowed here")
        number = os.getpid() % 250
        assert ip("address", "add", f"10.254.{number}.1/24", "dev", here)
        assert ip("link", "set", here, "up")
        assert ip("-n", name, "address", "add", f"10.254.{number}.2/24", "dev", there)
        assert ip("-n", name, "link", "set", there, "up")
        yield ["ip", "netns", "exec", name, "unshare", "--mount", *APART[4:]], f"10.254.{number}.1"
    finally:
        ip("netns", "del", name)  # and its link


def test_ranks_of_two_machines_answer(tmp_path: Path, machine: tuple[list[str], str], encrypted: dict[str, str]):
    command, address = machine
    with Ranks(tmp_path, "cpu,cpu", 2, device=encrypted, follow_with=command, address=address) as ranks:
        answers_and_drains(ranks)
