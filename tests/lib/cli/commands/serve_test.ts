import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { copyTemplate, describeWithDatabases } from "../../../database.ts";
import { commandLine } from "../run_in_process.ts";

const SIGN_IN = {
  PUBLIC_URL: "https://flaky.example",
  OIDC_ISSUER: "https://login.example",
  OIDC_CLIENT_ID: "id",
  OIDC_ORGANIZATION: "nope",
};
const GUESSABLE =
  /^OIDC_CLIENT_SECRET has fewer than 16 characters: anyone who guesses it can forge sessions: use a random one of at least 32 characters$/m;

describeWithDatabases("serve", (database) => {
  const cli = commandLine(() => ({ ...database(), kind: "embedded" }));

  it("answers from the line that says so until it is stopped, and ends with 0", async () => {
    const stop = new AbortController();
    let stderr = "";
    let answer = "";
    const { code, stdout } = await cli("serve --port 0", {
      stop: stop.signal,
      stderr: (text) => {
        stderr += text;
        const url = /^listening on (\S+)\n$/.exec(text)?.[1];
        if (!url) return;
        fetch(`${url}/health`).then((response) => response.text())
          .then((text) => answer = text).finally(() => stop.abort());
      },
    });
    assert.deepEqual([code, stdout], [0, ""]);
    assert.deepEqual(JSON.parse(answer), { status: "ok" });
    assert.match(stderr, /^listening on http:\/\/127\.0\.0\.1:\d+\n/);
    assert.match(stderr, /"message":"started","version":"\d+\.\d+\.\d+"/);
  });

  it("says at its start that the organization of sign-in is unknown", async () => {
    const stop = new AbortController();
    let stderr = "";
    const { code } = await cli("serve --port 0", {
      environment: {
        ...SIGN_IN,
        OIDC_CLIENT_SECRET: "0123456789abcdef",
      },
      stop: stop.signal,
      stderr: (text) => {
        stderr += text;
        if (text.startsWith("listening")) stop.abort();
      },
    });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^OIDC_ORGANIZATION: organization "nope" is unknown: create it with/);
  });

  it("says at its start that the secret of sign-in can be guessed, and starts", async () => {
    for (const command of ["serve --port 0", "up --port 0 --upload-port 0"]) {
      const stop = new AbortController();
      let stderr = "";
      const { code } = await cli(command, {
        environment: { ...SIGN_IN, OIDC_CLIENT_SECRET: "0123456789abcde" },
        stop: stop.signal,
        stderr: (text) => {
          stderr += text;
          if (text.startsWith("listening")) stop.abort();
        },
      });
      assert.equal(code, 0, stderr);
      assert.match(stderr, GUESSABLE);
      assert.ok(!stderr.includes("0123456789"), stderr);
    }
  });

  /** Serves until `body` is done; returns what was written to standard error. */
  async function serving(
    line: string,
    body: (urls: { url: string; opsUrl: string }) => Promise<void>,
  ): Promise<string> {
    const stop = new AbortController();
    let result: Promise<void> | undefined;
    let text = "";
    const { code, stderr } = await cli(line, {
      stop: stop.signal,
      stderr: (more) => {
        text += more;
        const url = /^listening on (\S+)\n/m.exec(text)?.[1];
        const [, opsUrl = ""] =
          /"message":"serving readiness and metrics","url":"(.+?)"/.exec(text) ?? [];
        // Log lines are buffered.
        if (!url || line.includes("--ops-port") && opsUrl === "") return;
        result ??= body({ url, opsUrl }).finally(() => stop.abort());
      },
    });
    await result;
    assert.equal(code, 0, stderr);
    return text;
  }

  it("logs the token, the address behind a trusted proxy, and the user agent", async () => {
    await cli("org create logged");
    const token = JSON.parse((await cli("token create --org logged --json")).stdout);
    const log = await serving(
      "serve --port 0 --log-format json --trusted-proxies 127.0.0.0/8",
      async ({ url }) => {
        const { status } = await fetch(`${url}/api`, {
          headers: {
            authorization: `Bearer ${token.token}`,
            "x-forwarded-for": "198.51.100.7, 203.0.113.9",
            "user-agent": `dash\tboard/1.0 ${token.token} ${"x".repeat(300)}`,
          },
        });
        assert.equal(status, 204);
      },
    );
    const line = log.split("\n").find((text) => text.includes('"request"')) ?? "";
    const { token_id, client_address, user_agent } = JSON.parse(line);
    assert.deepEqual([token_id, client_address], [token.api_token_id, "203.0.113.9"]);
    assert.match(user_agent, /^dashboard\/1\.0 \[redacted\] x{100,}$/);
    assert.ok(!log.includes(token.token.slice(3)));
  });

  it("serves readiness and metrics on a port of their own", async () => {
    const { token } = JSON.parse((await cli("token create --org logged --json")).stdout);
    await serving("serve --port 0 --ops-port 0", async ({ url, opsUrl }) => {
      const headers = { authorization: `Bearer ${token}` };
      for (const path of ["/api/v1/flaky/tests", "/api/v1/flaky/tests", "/nowhere"]) {
        await (await fetch(`${url}${path}`, { headers })).body?.cancel();
      }
      const ready = await fetch(`${opsUrl}/ready`);
      assert.deepEqual([ready.status, await ready.text()], [200, "ready\n"]);
      const metrics = await fetch(`${opsUrl}/metrics`);
      assert.match(metrics.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
      const text = await metrics.text();
      for (
        const sample of [
          'http_requests_total{route="/api/v1/flaky/tests",status="200"} 2',
          'http_requests_total{route="unknown",status="404"} 1',
          'http_request_duration_seconds_count{route="/api/v1/flaky/tests"} 2',
          'response_cache_total{result="hit"} 1',
          "lookup_batches_total 3",
        ]
      ) assert.ok(text.includes(`\ntest_analytics_${sample}\n`), `${sample}\n${text}`);
      assert.match(text, /\ntest_analytics_database_statement_seconds_count [1-9]/);
      assert.match(text, /\ntest_analytics_database_wait_seconds_count [1-9]/);
      for (const path of ["/", "/api", "/health"]) {
        const other = await fetch(`${opsUrl}${path}`);
        assert.deepEqual([other.status, await other.text()], [404, ""]);
      }
      await database().sql`alter table schema_migration rename to schema_migration_away`;
      try {
        const unready = await fetch(`${opsUrl}/ready`);
        assert.deepEqual([unready.status, await unready.text()], [503, "not ready\n"]);
      } finally {
        await database().sql`alter table schema_migration_away rename to schema_migration`;
      }
      assert.equal((await fetch(`${url}/metrics`)).status, 401);
      assert.equal((await fetch(`${url}/metrics`, { headers })).status, 404);
    });
  });

  it("listens where the flag says, not the environment", async () => {
    const environment = { HOST: "192.0.2.1", PORT: "1" };
    const stop = AbortSignal.abort();
    const { code, stderr } = await cli("serve --host localhost --port 0", { environment, stop });
    assert.equal(code, 0);
    assert.match(stderr, /^listening on http:\/\/(127\.0\.0\.1|\[::1\]):\d+\n/);
  });

  it("says when an address is not this machine's", async () => {
    const { code, stderr } = await cli("serve --host 192.0.2.1 --port 0");
    assert.equal(code, 1);
    assert.match(stderr, /^error: cannot listen on 192\.0\.2\.1 port 0: /);
  });

  it("ends when another version of the program has migrated the database", async () => {
    const { sql } = database();
    const insertion = async () => {
      await sql`insert into schema_migration (version, checksum) values (1000, '')`;
    };
    try {
      let stderr = "";
      const { code } = await cli("serve --port 0", {
        stop: new AbortController().signal,
        stderr: (text) => {
          stderr += text;
          if (text.startsWith("listening")) void insertion();
        },
      });
      assert.equal(code, 1);
      assert.match(stderr, /\nerror: the database has schema version 1000, expected \d+: .*\n$/);
    } finally {
      await sql`delete from schema_migration where version = 1000`;
    }
  });

  it("does not wait for anything at the second signal", async () => {
    const { code, stderr } = await cli("serve --port 0", {
      openDatabase: () => new Promise(() => {}),
      stop: AbortSignal.abort(),
      stopAtOnce: AbortSignal.abort(),
    });
    assert.deepEqual([code, stderr], [
      1,
      "error: stopped by a second signal before all work was done\n",
    ]);
  });
});

describe("serve --check", () => {
  const cli = commandLine(() => {
    throw new Error("it opens what it finds by itself");
  });

  it("is right where it would start, and creates nothing", async () => {
    const folder = await Deno.makeTempDir();
    const existing = await copyTemplate();
    try {
      for (const dataDir of [`${folder}/new`, existing]) {
        const { code, stdout } = await cli(["serve", "--check", "--data-dir", dataDir]);
        assert.deepEqual([code, stdout], [0, "ok\n"]);
      }
      assert.deepEqual([...Deno.readDirSync(folder)], []);
    } finally {
      await Deno.remove(folder, { recursive: true });
      await Deno.remove(existing, { recursive: true });
    }
  });

  it("says that the secret of sign-in can be guessed", async () => {
    const folder = await copyTemplate();
    try {
      const argv = ["serve", "--check", "--data-dir", folder];
      const check = (secret: string) =>
        cli(argv, { environment: { ...SIGN_IN, OIDC_CLIENT_SECRET: secret } });
      const short = await check("secret");
      assert.deepEqual([short.code, short.stdout], [0, "ok\n"]);
      assert.match(short.stderr, GUESSABLE);
      assert.deepEqual(await check("0123456789abcdef"), { code: 0, stdout: "ok\n", stderr: "" });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("is wrong where it would not", async () => {
    const away = await cli("serve --check --database-url postgres://u@127.0.0.1:1/d");
    assert.equal(away.code, 1);
    assert.match(away.stderr, /cannot be used: nothing listens there/);
    const wrong = await cli("serve --check --port 99999");
    assert.equal(wrong.code, 2);
    const folder = await cli("serve --check --data-dir /dev/null/data");
    assert.equal(folder.code, 1);
    assert.match(folder.stderr, /data folder "\/dev\/null\/data" cannot be used/);
    const signIn = await cli("serve --check --data-dir /dev/null/data", {
      environment: { OIDC_ISSUER: "https://login.example" },
    });
    assert.equal(signIn.code, 2);
    assert.match(signIn.stderr, /OIDC_ISSUER: expected PUBLIC_URL as well\nTry: .* serve --help/);
  });
});
