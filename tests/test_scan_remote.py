"""Scans of URLs, with a local S3 server."""

from __future__ import annotations

import io
import tarfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

import logdoctor
from logdoctor.archive import Filters, Plan, Scan, find_jobs
from logdoctor.archive.file_listing import list_files
from logdoctor.inputs.remote import mask_urls
from logdoctor.model import InputError

OOM = "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.15 GiB of which 1.10 GiB is free.\n"
FINE = "step 1/2 loss 3.1\nstep 2/2 loss 2.9\nTraining finished.\n"

LOGS = {"a/rank0.log": FINE, "a/rank1.log": OOM, "b/rank0.log": FINE, "b/weights.pt": "no log"}


def pack_archive(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def signatures(place: str, out, **settings) -> dict[str, str]:
    scan = Scan([place], Plan(out, **settings))
    list(scan.run())
    return {record.job: record.signature or record.status for record in scan.records()}


def test_user_and_query_of_a_url_are_masked():
    text = "s3://me:word@host/x and https://host/x?sig=abc&n=1 and /a?b"
    assert mask_urls(text) == "s3://***@host/x and https://host/x?*** and /a?b"


def test_password_of_a_url_stands_in_no_problem():
    pytest.importorskip("fsspec")
    problems: list = []
    assert find_jobs(["ftp://me:planted-word@localhost:1/x"], Filters(), problems) == []
    assert "ftp://***@localhost:1/x" in str(problems)
    assert "planted-word" not in str(problems)


# ── memory:// ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def memory():
    fsspec = pytest.importorskip("fsspec")
    filesystem = fsspec.filesystem("memory")
    for name, text in LOGS.items():
        filesystem.pipe(f"/runs/{name}", text.encode())
    filesystem.pipe("/runs/old.tar.gz", pack_archive({"x/1.log": OOM, "y/1.log": FINE}))
    yield filesystem
    filesystem.rm("/runs", recursive=True)


def test_jobs_behind_a_url_are_grouped_like_a_folder(memory):
    jobs = find_jobs(["memory://runs"], Filters(), [])
    assert [(job.name, len(job.members or job.paths)) for job in jobs] == [
        ("memory://runs/a", 2),
        ("memory://runs/b", 1),
        ("memory://runs/old.tar.gz:x", 1),
        ("memory://runs/old.tar.gz:y", 1),
    ]


def test_jobs_and_archives_behind_a_url_are_diagnosed(memory, tmp_path):
    assert signatures("memory://runs", tmp_path) == {
        "memory://runs/a": "cuda.oom",
        "memory://runs/b": "finished",
        "memory://runs/old.tar.gz:x": "cuda.oom",
        "memory://runs/old.tar.gz:y": "finished",
    }


def test_single_file_behind_a_url_is_a_job(memory, tmp_path):
    assert signatures("memory://runs/a/rank1.log", tmp_path) == {"memory://runs/a/rank1.log": "cuda.oom"}


def test_changed_file_behind_a_url_is_diagnosed_again(memory, tmp_path):
    signatures("memory://runs", tmp_path)
    memory.pipe("/runs/b/rank0.log", (FINE + OOM).encode())
    assert [job.name for job in Scan(["memory://runs"], Plan(tmp_path)).todo] == ["memory://runs/b"]


def test_file_removed_after_listing_gives_an_unreadable_record(memory, tmp_path):
    scan = Scan(["memory://runs/a"], Plan(tmp_path))
    memory.rm("/runs/a/rank0.log")
    memory.rm("/runs/a/rank1.log")
    list(scan.run())
    (record,) = scan.records()
    assert record.status == "unreadable"
    assert "rank0.log" in record.problems[0].where


def test_url_is_diagnosed_as_the_folder_with_its_files_is(memory, tmp_path):
    for name in ("rank0.log", "rank1.log"):
        (tmp_path / name).write_text(LOGS[f"a/{name}"])
    behind, here = (logdoctor.diagnose(place) for place in ("memory://runs/a", tmp_path))
    assert (behind.verdict, behind.causes[0].signature) == (here.verdict, here.causes[0].signature)
    assert behind.causes[0].evidence[0].line.file == "memory://runs/a/rank1.log"
    assert logdoctor.diagnose("memory://runs/old.tar.gz").coverage.files == 2


def test_log_behind_https_is_read_from_its_server(tmp_path):
    pytest.importorskip("aiohttp")
    (tmp_path / "rank1.log").write_text(OOM)
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/rank1.log"
        assert logdoctor.diagnose(f"{url}?key=planted-word").causes[0].signature == "cuda.oom"
        with pytest.raises(InputError) as error:
            logdoctor.diagnose(f"{url}.gone?key=planted-word")
        server.shutdown()
    assert "planted-word" not in str(error.value)


@pytest.mark.parametrize("url", ["memory://nothing", "nosuch://x/y", "://"])
def test_url_without_files_gives_an_error_with_the_url(url):
    with pytest.raises(InputError) as error:
        list_files(url, [])
    assert error.value.where == url


# ── S3 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def s3_server():
    server = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    started = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    host, port = started.get_host_and_port()
    yield f"http://{host}:{port}"
    started.stop()


@pytest.fixture
def bucket(s3_server, monkeypatch):
    """A bucket with jobs.  Address and credentials are in the environment only."""
    import boto3
    import s3fs

    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    client = boto3.client("s3")
    client.create_bucket(Bucket="logs")
    for name, text in LOGS.items():
        client.put_object(Bucket="logs", Key=f"runs/{name}", Body=text.encode())
    client.put_object(Bucket="logs", Key="runs/old.tar.gz", Body=pack_archive({"x/1.log": OOM, "y/1.log": FINE}))
    yield client
    boto3.resource("s3").Bucket("logs").objects.delete()
    client.delete_bucket(Bucket="logs")
    s3fs.S3FileSystem.clear_instance_cache()


def test_jobs_and_archives_in_a_bucket_are_diagnosed(bucket, tmp_path):
    assert signatures("s3://logs/runs", tmp_path) == {
        "s3://logs/runs/a": "cuda.oom",
        "s3://logs/runs/b": "finished",
        "s3://logs/runs/old.tar.gz:x": "cuda.oom",
        "s3://logs/runs/old.tar.gz:y": "finished",
    }


def test_worker_processes_read_a_bucket(bucket, tmp_path):
    assert signatures("s3://logs/runs", tmp_path / "two", workers=2) == signatures("s3://logs/runs", tmp_path / "one")


def test_file_of_a_bucket_has_size_and_time(bucket):
    (entry,) = list_files("s3://logs/runs/a/rank0.log", [])
    assert (entry.name, entry.size) == ("rank0.log", len(FINE))
    assert entry.changed > 1e9


def test_unchanged_jobs_of_a_bucket_are_not_diagnosed_again(bucket, tmp_path):
    signatures("s3://logs/runs", tmp_path)
    assert Scan(["s3://logs/runs"], Plan(tmp_path)).todo == []


def test_missing_bucket_is_a_problem_of_its_place(bucket, tmp_path):
    scan = Scan(["s3://other", "s3://logs/runs/a"], Plan(tmp_path))
    assert [job.name for job in scan.jobs] == ["s3://logs/runs/a"]
    assert [problem.where for problem in scan.problems] == ["s3://other"]


def test_missing_credentials_are_named_in_the_problem(bucket, tmp_path, monkeypatch):
    import s3fs

    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setattr(s3fs.S3FileSystem, "connect_timeout", 1)
    s3fs.S3FileSystem.clear_instance_cache()
    scan = Scan(["s3://logs/runs"], Plan(tmp_path))
    (problem,) = scan.problems
    assert "credentials" in problem.why.lower() + problem.help
