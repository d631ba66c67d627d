"""Made-up secrets from a fixed seed, in lines of training jobs."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator

SEED = 20250304
HEX, UPPER, ALNUM = "0123456789abcdef", string.ascii_uppercase + string.digits, string.ascii_letters + string.digits
BASE64, WORD = ALNUM + "+/", ALNUM + "_-"

Draw = Callable[[random.Random], str]


def of(letters: str, length: int, before: str = "", after: str = "") -> Draw:
    """Draw ``length`` letters, with at least one digit, capital and small letter if ``letters`` has them."""

    def draw(chance: random.Random) -> str:
        secret = [chance.choice(letters) for _ in range(length)]
        sorts = [s for s in (string.digits, string.ascii_uppercase, string.ascii_lowercase) if set(s) & set(letters)]
        for place, sort in zip(chance.sample(range(1, length - 1), len(sorts)), sorts, strict=True):
            secret[place] = chance.choice(sorted(set(sort) & set(letters)))
        secret[0], secret[-1] = (
            chance.choice(sorted(set(letters) & set(ALNUM))),
            chance.choice(sorted(set(letters) & set(ALNUM))),
        )
        return before + "".join(secret) + after

    return draw


def joined(*parts: Draw, by: str = ".") -> Draw:
    return lambda chance: by.join(part(chance) for part in parts)


BARE: dict[str, Draw] = {
    "aws-key-id": of(UPPER, 16, "AK" + "IA"),
    "aws-session-key-id": of(UPPER, 16, "AS" + "IA"),
    "github": of(ALNUM, 36, "gh" + "p_"),
    "github-app": of(ALNUM, 36, "gh" + "s_"),
    "github-fine-grained": of(ALNUM + "_", 82, "github_" + "pat_"),
    "gitlab": of(WORD, 20, "gl" + "pat-"),
    "slack-bot": joined(of("0123456789", 12, "xo" + "xb-"), of(ALNUM, 24), by="-"),
    "slack-webhook": of(ALNUM, 24, "https://hooks.slack" + ".com/services/T00000000/B00000000/"),
    "huggingface": of(ALNUM, 34, "h" + "f_"),
    "anthropic": of(WORD, 95, "sk-" + "ant-api03-"),
    "openai": of(ALNUM, 48, "s" + "k-"),
    "openai-project": of(WORD, 120, "s" + "k-proj-"),
    "google": of(WORD, 35, "AI" + "za"),
    "google-oauth": of(WORD, 60, "ya" + "29."),
    "nvidia": of(WORD, 64, "nv" + "api-"),
    "databricks": of(HEX, 32, "da" + "pi"),
    "docker": of(WORD, 27, "dckr_" + "pat_"),
    "npm": of(ALNUM, 36, "np" + "m_"),
    "stripe": of(ALNUM, 24, "sk_" + "live_"),
    "sendgrid": joined(of(WORD, 22, "S" + "G."), of(WORD, 43)),
    "jwt": joined(of(WORD, 20, "ey" + "J"), of(WORD, 60, "ey" + "J"), of(WORD, 43)),
    "vault": of(WORD, 90, "hv" + "s."),
    "replicate": of(ALNUM, 37, "r" + "8_"),
    "groq": of(ALNUM, 52, "gs" + "k_"),
    "azure-storage": of(BASE64, 86, "", "=="),
}
"""Tokens that are recognised without context."""

LINES = (
    "[rank3]: ValueError: Invalid credentials in request: {}",
    "2025-03-04 02:14:07,113 INFO trainer.setup: export TOKEN={}",
    "[2025-03-04 02:14:07] node07:4711:4711 [3] NCCL INFO plugin argument '{}'",
    'huggingface_hub.errors.HfHubHTTPError: 401 Client Error, sent "{}" (Request ID: Root=1-67c)',
    "  warnings.warn(f'the key {} is about to expire')",
    "+ python train.py --lr 3e-4 --hub {} --epochs 3",
    "slurmstepd: error: task 3: environment dump: FOO=1;KEY={};BAR=2",
    "{}",
    "(RayTrainWorker pid=4242, ip=10.2.0.7) config = {{'auth': '{}', 'lr': 0.1}}",
    'time="2025-03-04T02:14:07Z" level=error msg="pull failed ({})"',
    "0: srun: env: LD_LIBRARY_PATH=/usr/lib:{}",
    "DEBUG urllib3.connectionpool: POST /api/v1?page=1&auth={} 403",
)

PASSWORD = of(ALNUM + "!#%._-", 14)
NAMED: dict[str, tuple[str, Draw]] = {
    "password setting": ("MYSQL_PASSWORD={}", PASSWORD),
    "password in a dictionary": ("config: {{'db_password': '{}', 'db_port': 5432}}", PASSWORD),
    "password in YAML": ('  redis_password: "{}"', PASSWORD),
    "password option": ("+ ./sync --user sync --password {} --retries 3", PASSWORD),
    "password of sshpass": ("+ sshpass -p {} rsync -a ckpt/ nas7:/backup", PASSWORD),
    "password of curl": ("+ curl -fsS -u svc-train:{} https://artifacts.corp.example/w.bin", PASSWORD),
    "password of docker login": ("+ docker login registry.corp.example -u ci -p {}", PASSWORD),
    "netrc": ("machine git.corp.example login ci password {}", PASSWORD),
    "url of a data base": (
        "sqlalchemy: connecting to postgresql://optuna:{}@db.corp.example:5432/trials",
        of(ALNUM, 16),
    ),
    "url of redis": ("celery: Connected to redis://:{}@cache7:6379/0", of(ALNUM, 16)),
    "proxy": ("https_proxy=http://alice:{}@proxy.corp.example:3128", of(ALNUM, 12)),
    "git with a token": ("fatal: unable to access 'https://{}@git.corp.example/ml/train.git/'", of(ALNUM, 40)),
    "bearer": ("> Authorization: Bearer {}", of(WORD, 40)),
    "bearer in a dictionary": ("headers={{'Authorization': 'Bearer {}', 'Accept': '*/*'}}", of(WORD, 40)),
    "basic": ("DEBUG: send: Authorization: Basic {}", of(ALNUM, 32, "", "==")),
    "x-api-key": ("header x-api-key: {}", of(ALNUM, 32)),
    "wandb setting": ("export WANDB_API_KEY={}", of(HEX, 40)),
    "wandb login": ("+ wandb login --relogin {}", of(HEX, 40)),
    "aws secret": ("AWS_SECRET_ACCESS_KEY={}", of(BASE64, 40)),
    "aws secret in a file": ("aws_secret_access_key = {}", of(BASE64, 40)),
    "aws secret in JSON": ('{{"SecretAccessKey": "{}", "Expiration": "2025-03-04T08:00:00Z"}}', of(BASE64, 40)),
    "aws session": ("AWS_SESSION_TOKEN={}", of(BASE64, 200)),
    "aws signature": ("GET https://bucket.s3.amazonaws.com/w?X-Amz-Expires=900&X-Amz-Signature={}", of(HEX, 64)),
    "azure account": (
        "DefaultEndpointsProtocol=https;AccountName=ckpt;AccountKey={};EndpointSuffix=core",
        of(BASE64, 86, "", "=="),
    ),
    "azure sas": ("https://ckpt.blob.core.example/c/w?sv=2022-11-02&se=2025-03-05&sig={}", of(ALNUM, 43, "", "%3D")),
    "azure client": ("AZURE_CLIENT_SECRET={}", of(ALNUM, 37)),
    "mlflow": ("MLFLOW_TRACKING_PASSWORD={}", PASSWORD),
    "comet": ("COMET_API_KEY={}", of(ALNUM, 25)),
    "neptune": ("NEPTUNE_API_TOKEN={}", of(ALNUM, 100, "", "==")),
    "kaggle": ('{{"username":"ci","key_id":3,"api_key":"{}"}}', of(HEX, 32)),
    "cookie": ("< Set-Cookie: session={}; Path=/; HttpOnly", of(ALNUM, 32)),
    "client secret": ("oauth: client_secret={}&grant_type=client_credentials", of(ALNUM, 40)),
    "access token in a URL": ("GET /v1/models?access_token={}&page=2 401", of(WORD, 40)),
    "said key": ("ERROR Incorrect API key provided: {}.", of(ALNUM, 32)),
    "private key in one line": ("SSH_PRIVATE_KEY='-----BEGIN OPENSSH " + "PRIVATE KEY-----{}'", of(BASE64, 70)),
    "body of a private key": ("{}", of(BASE64, 64)),
    "secret": ("JWT_SECRET={}", of(ALNUM, 24)),
    "token option": ("+ huggingface-cli login --token {}", of(ALNUM, 32)),
    "rendezvous secret": ("ETCD_AUTH_TOKEN: '{}'", of(ALNUM, 24)),
}
"""Secrets that are recognised by the text beside them."""


def planted(each: int = 6) -> Iterator[tuple[str, str, str]]:
    """Yield kind, secret and log line, ``each`` times for every kind."""
    chance = random.Random(SEED)
    for kind, draw in BARE.items():
        for line in chance.sample(LINES, each):
            secret = draw(chance)
            yield kind, secret, line.format(secret)
    for kind, (line, draw) in NAMED.items():
        for _ in range(each):
            secret = draw(chance)
            yield kind, secret, line.format(secret)
