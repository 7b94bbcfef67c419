import { after, afterEach, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { revokeToken } from "../../../../db/admin/tokens.ts";
import { describeWithDatabase } from "../../../database.ts";
import { archiveOf, reportOf } from "../../report/archive/make_archive.ts";
import { commandLine, NOON } from "../../cli/run_in_process.ts";
import { addOrganization, addToken, createReceiver, formOf, type Receiver } from "./receive.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const TREE = "f".repeat(40);
const JUNIT = reportOf("adds");
const LCOV = "SF:a.ts\nDA:1,1\nDA:2,0\nend_of_record\n";

describeWithDatabase("an upload", (database) => {
  let receiver: Receiver;
  let token = "";
  let acme = 0;
  let repositories = 0;
  const cli = commandLine(database);

  before(async () => {
    acme = await addOrganization(database().sql, "acme");
    await addOrganization(database().sql, "globex");
    token = await addToken(database().sql, acme);
    receiver = await createReceiver(database().sql);
  });
  after(() => receiver.close());
  afterEach(async () => {
    // What was not acknowledged left nothing, what was is processed.
    await process();
    assert.deepEqual(await receiver.files(), []);
  });

  const newPath = () => `/upload/acme/repository-${++repositories}`;

  async function accepted(response: Response, expectedNotes?: string[]): Promise<string> {
    const text = await response.text();
    assert.equal(response.status, 202, text);
    assert.equal(response.headers.get("content-type"), "application/json; charset=utf-8");
    const { key, ...rest } = JSON.parse(text);
    assert.deepEqual(rest, expectedNotes ? { notes: expectedNotes } : {});
    return key;
  }

  async function refused(response: Response, status: number, errors: Record<string, RegExp>) {
    const text = await response.text();
    assert.equal(response.status, status, text);
    const found: Record<string, string[]> = JSON.parse(text).errors;
    assert.deepEqual(Object.keys(found).sort(), Object.keys(errors).sort());
    for (const [name, message] of Object.entries(errors)) {
      assert.match(found[name]!.join("\n"), message);
    }
  }

  /** Processes the archives with `watch`, and removes them. */
  async function process(): Promise<string[]> {
    const now = () => NOON + 3_600;
    await receiver.age();
    const { code, stdout, stderr } = await cli(["watch", receiver.folder, "--once"], { now });
    assert.equal(code, 0, stdout + stderr);
    for (const path of await receiver.files()) await Deno.remove(join(receiver.folder, path));
    return stdout.split("\n").filter((line) => line !== "");
  }

  async function stored(path: string, organization = "acme") {
    const [row] = await database().sql`
      select s.key, commit_oid, tree_oid, branch, environment, job, workflow, shard, attempt,
        runner, exit_code, build_url, to_json(tags) as tags,
        extract(epoch from recorded_at)::float8 as recorded_at, test_result_count,
        (select covered_line_count::int from coverage_report c
          where c.repository_id = s.repository_id) as covered
      from submission s
      join repository r using (repository_id)
      join organization o using (organization_id)
      where o.name = ${organization} and '/upload/' || r.owner || '/' || r.name = ${path}`;
    assert.ok(row);
    return { ...row };
  }

  it("one report needs a commit, and takes other facts as parameters", async () => {
    const path = newPath();
    const facts = `commit=${SHA.toUpperCase()}&tree=${TREE}&branch=main&tags=a,b` +
      "&environment=Windows-X64&job=unit&shard=2/8&attempt=3&exit_code=1" +
      "&build_url=https://ci.example/1&recorded_at=2026-01-31T08:00:00%2B01:00";
    const key = await accepted(await receiver.send(`${path}?${facts}`, token, { body: JUNIT }));
    assert.match(key, /^acme\/repository-\d+\/20260131T070000Z-[0-9a-f]{16}\.gz$/);
    assert.deepEqual(await receiver.files(), [key]);
    assert.deepEqual(await process(), [`${key}\tprocessed\t1`]);
    assert.deepEqual(await stored(path), {
      key,
      commit_oid: SHA,
      tree_oid: TREE,
      branch: "main",
      environment: "Windows-X64",
      job: "unit",
      workflow: "",
      shard: "2/8",
      attempt: "3",
      runner: "",
      exit_code: 1,
      build_url: "https://ci.example/1",
      tags: ["a", "b"],
      recorded_at: Date.UTC(2026, 0, 31, 7) / 1000,
      test_result_count: 1,
      covered: null,
    });
  });

  it("has the workflow of the variables of its CI job", async () => {
    const path = newPath();
    for (
      const [variables, workflow] of [
        [{ GITHUB_ACTIONS: "true", GITHUB_WORKFLOW: "ASan" }, "ASan"],
        [{ TF_BUILD: "True", BUILD_DEFINITIONNAME: "shop-ci" }, "shop-ci"],
        [{ BUILDKITE: "true", BUILDKITE_PIPELINE_SLUG: "x".repeat(101) }, "x".repeat(100)],
      ] as const
    ) {
      const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`).join("");
      const body = formOf([["report", "a.xml", reportOf(workflow)], ["ci", "ci", lines]]);
      await accepted(await receiver.send(`${path}?commit=${SHA}`, token, { body }));
      await process();
      assert.equal((await stored(path)).workflow, workflow);
      await database().sql`delete from submission`;
    }
  });

  it("a POST with nothing but a commit is dated by its arrival", async () => {
    const path = newPath();
    const request = { method: "POST", body: JUNIT };
    await accepted(await receiver.send(`${path}?commit=${SHA}&branch=`, token, request));
    await process();
    const { recorded_at, branch, build_url } = await stored(path);
    assert.deepEqual([recorded_at, branch, build_url], [NOON, null, ""]);
  });

  it("a form may have any number of reports, coverage and CODEOWNERS", async () => {
    const path = newPath();
    const body = formOf([
      ["report", "attempt_10.xml", reportOf("a", "web/a.ts")],
      ["report", "attempt_2.xml", reportOf("b", "web/b.ts")],
      // The same name again, and names that lead elsewhere or are none.
      ["report", "attempt_2.xml", reportOf("c")],
      ["report", "../../etc/passwd\u0007", reportOf("d")],
      ["report", "..", reportOf("e")],
      ["coverage", "lcov.info", LCOV],
      ["coverage", "lcov.info", "SF:b.ts\nDA:1,1\nend_of_record\n"],
      ["codeowners", "CODEOWNERS", "web/ @acme/web\n"],
    ]);
    await accepted(await receiver.send(`${path}?commit=${SHA}`, token, { body }));
    await process();
    const { test_result_count, covered } = await stored(path);
    assert.deepEqual([test_result_count, covered], [5, 2]);
    const [tag] = await database().sql`
      select t.tag from test_tag t join repository r using (repository_id)
      where '/upload/' || r.owner || '/' || r.name = ${path}`;
    assert.equal(tag?.tag, "owner:@acme/web");
  });

  it("the good reports are kept when another is empty or cut off, with a note", async () => {
    const path = newPath();
    const cut = reportOf("cut").slice(0, -14);
    const body = formOf([
      ["report", "a.xml", reportOf("a")],
      ["report", "cut.xml", cut],
      ["report", "empty.xml", ""],
      ["report", "none.xml", '<testsuites tests="2"/>'],
    ]);
    const response = await receiver.send(`${path}?commit=${SHA}`, token, { body });
    const notes = [
      "cut.xml:1:58: found the end of the file inside <testsuite>, expected its end: the file " +
      "seems to be cut off: left out",
      "empty.xml:1:1: found an empty file, expected a JUnit report in XML: left out",
      "none.xml: found no test result, although it declares 2 tests",
    ];
    const key = await accepted(response, notes);
    assert.deepEqual(await process(), [`${key}\tprocessed\t1`]);
    const [row] = await database().sql<{ notes: string[] }[]>`
      select array_to_json(notes) as notes from submission where key = ${key}`;
    assert.deepEqual(row?.notes, notes);
  });

  it("a branch that is none is ignored with a note", async () => {
    const path = newPath();
    const body = formOf([["report", "a.xml", reportOf("a")]]);
    const response = await receiver.send(`${path}?commit=${SHA}&branch=HEAD`, token, { body });
    const notes = [
      "ignored the branch: HEAD, null and the ref of a tag or a pull request name none",
    ];
    const key = await accepted(response, notes);
    assert.deepEqual(await process(), [`${key}\tprocessed\t1`]);
    const [row] = await database().sql<{ branch: string | null }[]>`
      select branch from submission where key = ${key}`;
    assert.equal(row!.branch, null);
  });

  it("a branch of the remote, as Jenkins names it, is the branch, with a note", async () => {
    const path = newPath();
    const body = formOf([
      ["report", "a.xml", reportOf("a")],
      ["branch", "", "origin/fix"],
    ]);
    const response = await receiver.send(`${path}?commit=${SHA}&branch=fix`, token, { body });
    const key = await accepted(response);
    assert.deepEqual(await process(), [`${key}\tprocessed\t1`]);
    const other = await receiver.send(`${path}?commit=${SHA}&branch=origin/fix`, token, {
      body: formOf([["report", "b.xml", reportOf("b")]]),
    });
    const note = 'branch "origin/fix": stored as "fix", without the name of the remote';
    await accepted(other, [note]);
    await process();
    const rows = await database().sql<{ branch: string }[]>`
      select branch from submission join repository r using (repository_id)
      where '/upload/' || r.owner || '/' || r.name = ${path}`;
    assert.deepEqual(rows.map(({ branch }) => branch), ["fix", "fix"]);
  });

  it("a report that is cut off is accepted with a note if the run is said to have ended red", async () => {
    const send = (exitCode: number) =>
      receiver.send(`${newPath()}?commit=${SHA}&job=unit&exit_code=${exitCode}`, token, {
        body: formOf([["report", "cut.xml", reportOf("cut").slice(0, -14)]]),
      });
    assert.equal((await send(0)).status, 400);
    const notes = [
      "cut.xml:1:58: found the end of the file inside <testsuite>, expected its end: the file " +
      "seems to be cut off: left out",
    ];
    const key = await accepted(await send(1), notes);
    assert.deepEqual(await process(), [`${key}\tprocessed\t0`]);
    const [row] = await database().sql`
      select exit_code, cut_off_report_count from submission where key = ${key}`;
    assert.deepEqual({ ...row }, { exit_code: 1, cut_off_report_count: 1 });
  });

  it("of a job without a result is another one than that of a job with the same bytes", async () => {
    const path = newPath();
    const keys: string[] = [];
    for (const query of ["job=unit", "job=browser", "job=unit&attempt=2"]) {
      const url = `${path}?commit=${SHA}&build_url=https://ci.example/1&exit_code=1&${query}`;
      const body = formOf([["report", "cut.xml", "<testsuite>"]]);
      const response = await receiver.send(url, token, { body });
      keys.push((await response.json()).key);
    }
    assert.deepEqual((await process()).sort(), keys.map((key) => `${key}\tprocessed\t0`).sort());
  });

  it("an upload without results is accepted with a note", async () => {
    const request = { method: "POST", body: "<testsuites/>" };
    const response = await receiver.send(`${newPath()}?commit=${SHA}`, token, request);
    const key = await accepted(response, ["report.xml: found no test result"]);
    assert.deepEqual(await process(), [`${key}\tprocessed\t0`]);
  });

  it("an upload of coverage alone is accepted", async () => {
    const body = formOf([["coverage", "lcov.info", LCOV]]);
    const key = await accepted(await receiver.send(`${newPath()}?commit=${SHA}`, token, { body }));
    assert.deepEqual(await process(), [`${key}\tprocessed\t0`]);
  });

  it("an empty coverage file, which tools leave behind, is accepted as by `ingest`", async () => {
    const body = formOf([["coverage", "empty", ""]]);
    const response = await receiver.send(`${newPath()}?commit=${SHA}`, token, { body });
    const notes = ["the coverage reports contain no coverable line: ignored"];
    const key = await accepted(response, notes);
    assert.deepEqual(await process(), [`${key}\tprocessed\t0`]);
  });

  it("a file of another kind is refused with its parameter and name", async () => {
    for (const [part, text] of [["report", ""], ["coverage", "x"]] as const) {
      const body = formOf([[part, "made.xml", text]]);
      const response = await receiver.send(`${newPath()}?commit=${SHA}`, token, { body });
      await refused(response, 400, { [part]: /^made\.xml/ });
    }
  });

  it("an archive needs no parameters; given ones take precedence, as with `ingest`", async () => {
    const path = newPath();
    const entries: [string, string][] = [
      [
        "buildpulse.yml",
        `:commit: ${SHA}\n:repo_name_with_owner: Acme${path.slice("/upload/acme".length)}\n` +
        ":branch: main\n:timestamp: 2026-01-30T08:00:00Z\n",
      ],
      ["test_results/a.xml", JUNIT],
      ["coverage/lcov.info", LCOV],
      ["screenshot.png", "not kept"],
    ];
    const body = await archiveOf(entries);
    await accepted(await receiver.send(`${path}?tree=${TREE}&branch=dev`, token, { body }));
    const [key = ""] = await receiver.files();
    await process();
    assert.deepEqual(await stored(path), {
      key,
      commit_oid: SHA,
      tree_oid: TREE,
      branch: "dev",
      environment: "",
      job: "",
      workflow: "",
      shard: "",
      attempt: "",
      runner: "",
      exit_code: null,
      build_url: "",
      tags: [],
      recorded_at: Date.UTC(2026, 0, 30, 8) / 1000,
      test_result_count: 1,
      covered: 1,
    });
    const elsewhere = await receiver.send("/upload/acme/elsewhere", token, { body });
    await refused(elsewhere, 400, {
      repository: /the archive belongs to "Acme\/.*expected "acme\/e/,
    });
  });

  it("a repeated upload is stored once, under the same key if it says when it ran", async () => {
    const path = `${newPath()}?commit=${SHA}&recorded_at=2026-01-31T08:00:00Z`;
    const first = await accepted(await receiver.send(path, token, { body: JUNIT }));
    assert.equal(await accepted(await receiver.send(path, token, { body: JUNIT })), first);
    assert.deepEqual(await process(), [`${first}\tprocessed\t1`]);
    const later = `${path.replace("08:00", "09:00")}`;
    const second = await accepted(await receiver.send(later, token, { body: JUNIT }));
    assert.deepEqual(await process(), [`${second}\tprocessed\t1\tduplicate`]);
  });

  it("an upload goes to the organization of its token, whatever the owner is called", async () => {
    const path = "/upload/globex/shop";
    await accepted(await receiver.send(`${path}?commit=${SHA}`, token, { body: JUNIT }));
    await process();
    assert.equal((await stored(path, "acme")).commit_oid, SHA);
  });

  it("uploads to repositories with slashes or a leading dot in their name are processed", async () => {
    for (const path of ["/upload/group/sub/.github", "/upload/group%2Fother/sh%C3%B6p/"]) {
      await accepted(await receiver.send(`${path}?commit=${SHA}`, token, { body: JUNIT }));
    }
    assert.equal((await process()).length, 2);
    assert.equal((await stored("/upload/group/sub/.github")).commit_oid, SHA);
    assert.equal((await stored("/upload/group/other/shöp")).commit_oid, SHA);
  });

  it("a request without a valid upload token is 401, whatever the path", async () => {
    const { sql } = database();
    const revoked = await addToken(sql, acme);
    const [row] = await sql<{ id: number }[]>`select max(api_token_id) as id from api_token`;
    await revokeToken(sql, { apiTokenId: row!.id, revokedAt: NOON });
    const invalid = /^unknown, expired or revoked upload token: create one with/;
    const wrong: [token: string, message: RegExp][] = [
      ["", /^empty token: check that the job has UPLOAD_TOKEN$/],
      ["nonsense", /^invalid token: expected an upload token \(up_ and 64 hex digits\)/],
      [`up_${"0".repeat(63)}`, /^incomplete or changed upload token: expected/],
      [`up_${"0".repeat(64)}`, invalid],
      [revoked, invalid],
      [await addToken(sql, acme, "upload", NOON), invalid],
      [await addToken(sql, acme, "api_token"), /^an API token, which only reads: expected an up/],
      [await addToken(sql, acme, "legacy"), /^a legacy API token, which only reads: expected/],
      [`bd_${"0".repeat(64)}`, /^a badge token: expected/],
    ];
    for (const [each, message] of wrong) {
      for (const path of [`/upload/acme/shop?commit=${SHA}`, "/", "/upload", "/nowhere"]) {
        const response = await receiver.send(path, each, { body: JUNIT });
        assert.equal(response.status, 401, each);
        assert.equal(response.headers.get("www-authenticate"), "Bearer");
        assert.match((await response.json()).message, message);
      }
    }
  });

  it("a malformed Authorization header is 401 with the problem, never with its text", async () => {
    const headers: [authorization: string, message: RegExp][] = [
      [token, /^missing "Bearer" before the token: expected "Authorization: Bearer TOKEN"$/],
      [`${token} x`, /^missing "Bearer"/],
      [`Basic ${token}`, /^invalid header: expected "Authorization: Bearer TOKEN"$/],
      [`Bearer ${token}x`, /^incomplete or changed upload token/],
      [`Bearer ${token} ${token}`, /^text after the token/],
      ["Bearer", /^empty token/],
      ["", /^missing token: expected the header/],
    ];
    for (const [authorization, message] of headers) {
      const response = await receiver.send("/upload/acme/shop", "", {
        body: JUNIT,
        headers: { authorization },
      });
      const text = await response.text();
      assert.equal(response.status, 401);
      assert.match(JSON.parse(text).message, message);
      assert.ok(!text.includes(token.slice(0, 12)));
    }
  });

  it("a path of the API gets a message that names its port, whatever the token", async () => {
    for (const path of ["/api", "/api/repos/acme/shop/tests", "/repos", "/docs"]) {
      for (const each of ["", `tk_${"0".repeat(64)}`]) {
        const response = await receiver.send(path, each, {});
        assert.equal(response.status, 401);
        assert.match((await response.json()).message, /^this port takes uploads; the API/);
      }
    }
  });

  it("an upload is refused at another path or with another method", async () => {
    for (
      const path of [
        "/",
        "/upload/shop",
        "/upload//shop",
        "/upload/a/../b",
        "/api",
        "/upload/%ff/a",
        `/upload/${"a/".repeat(300)}b`,
      ]
    ) {
      const response = await receiver.send(path, token, { body: JUNIT });
      assert.equal(response.status, 404, path);
      const { message } = await response.json();
      if (path === "/api") assert.match(message, /^this port takes uploads; the API .*8000/);
      else assert.equal(message, "Not Found");
    }
    const get = await receiver.send("/upload/acme/shop", token, { method: "GET" });
    assert.deepEqual([get.status, get.headers.get("allow")], [405, "POST, PUT"]);
    await get.body?.cancel();
  });

  it("wrong parameters are refused with all their errors", async () => {
    const path = "/upload/acme/shop?commit=HEAD&tree=x&recorded_at=yesterday&tags=a%20b";
    await refused(await receiver.send(path, token, { body: JUNIT }), 400, {
      commit: /^invalid commit "HEAD": expected 7 to 64 hex digits$/,
      tree: /expected 7 to 64 hex digits/,
      recorded_at: /"yesterday"/,
      tags: /expected no white space/,
    });
    await refused(await receiver.send("/upload/acme/shop", token, { body: JUNIT }), 400, {
      commit: /^missing commit: expected 7 to 64 hex digits$/,
    });
    const secret = `/upload/acme/shop?commit=${SHA}&build_url=https://me:secret@ci.example/1`;
    await refused(await receiver.send(secret, token, { body: JUNIT }), 400, {
      build_url: /^invalid build URL "https:\/\/ci\.example\/1" with a user or password/,
    });
    const script = `/upload/acme/shop?commit=${SHA}&build_url=javascript:alert(1)`;
    await refused(await receiver.send(script, token, { body: JUNIT }), 400, {
      build_url: /^invalid build URL "javascript:alert\(1\)": expected .*https:\/\/ or http:\/\/$/,
    });
    const unknown = `/upload/acme/shop?comit=${SHA}&tree=x&__proto__=1`;
    await refused(await receiver.send(unknown, token, { body: JUNIT }), 400, {
      comit:
        /^unknown parameter: expected repository, commit, tree, branch, environment, job, shard, attempt, exit_code, build_url, path_prefix, recorded_at, tags$/,
      ["__proto__"]: /^unknown parameter/,
      tree: /expected 7 to 64 hex digits/,
    });
    const future = `/upload/acme/shop?commit=${SHA}&recorded_at=2027-01-01T00:00:00Z`;
    await refused(await receiver.send(future, token, { body: JUNIT }), 400, {
      recorded_at: /at most 24 hours ahead/,
    });
  });

  it("a form that says a parameter twice in different ways is refused", async () => {
    const formOf = (fields: [name: string, value: string][]) => {
      const body = new FormData();
      body.append("report", new File([JUNIT], "junit.xml"));
      for (const [name, value] of fields) body.append(name, value);
      return body;
    };
    const other = SHA.replaceAll("a", "b").replace(/^./, (digit) => digit === "1" ? "2" : "1");
    const send = (path: string, fields: [string, string][]) =>
      receiver.send(path, token, { body: formOf(fields) });
    const path = "/upload/acme/shop";
    await refused(await send(path, [["commit", SHA], ["commit", other]]), 400, {
      commit:
        /^"[0-9a-f]+(\.\.\.)?" in the form, "[0-9a-f]+(\.\.\.)?" in the form: expected one of them$/,
    });
    await refused(
      await send(path, [["commit", SHA], ["branch", "main"], ["branch", " "], ["branch", "fix"]]),
      400,
      { branch: /^"main" in the form, "fix" in the form: expected one of them$/ },
    );
    await refused(await send(`${path}?branch=main`, [["commit", SHA], ["branch", "fix"]]), 400, {
      branch: /^"main" in the address, "fix" in the form: expected one of them$/,
    });
    const alike = await send(path, [["commit", SHA], ["commit", SHA.toUpperCase()]]);
    assert.equal(alike.status, 202, await alike.text());
    const empty = await send(`${path}?commit=&branch=`, [["commit", SHA], ["branch", "main"]]);
    assert.equal(empty.status, 202, await empty.text());
  });

  it("a path or a parameter that contradicts what else says the repository is refused", async () => {
    const lines = `GITHUB_ACTIONS=true\nGITHUB_REPOSITORY=acme/q\nGITHUB_SHA=${SHA}\n`;
    const form = (...fields: [name: string, value: string][]) => {
      const body = formOf([["report", "a.xml", JUNIT], ["ci", "ci", lines]]);
      for (const [name, value] of fields) body.append(name, value);
      return body;
    };
    const archive = await archiveOf([
      ["buildpulse.yml", `:commit: ${SHA}\n:repo_name_with_owner: acme/q\n:branch: main\n`],
      ["test_results/a.xml", JUNIT],
    ]);
    const ciOnly = await archiveOf([["ci.env", lines], ["test-results/a.xml", JUNIT]]);
    const [other, own] = ["repository=acme%2Fother", "repository=Acme%2FQ"];
    for (
      const [path, body, message] of [
        [
          "/acme/other",
          form(),
          /^ci belongs to "acme\/q": expected "acme\/other", as in the address$/,
        ],
        [
          `?${other}`,
          form(),
          /^ci belongs to "acme\/q": expected "acme\/other", as in the parameter$/,
        ],
        [
          "",
          form(["repository", "acme/other"]),
          /^ci belongs to "acme\/q": .*, as in the parameter$/,
        ],
        [`/acme/other?${other}`, form(), /^ci belongs to "acme\/q": expected "acme\/other"/],
        [`/acme/q?${other}`, form(), /^the parameter belongs to "acme\/other": expected "acme\/q"/],
        [`?${other}`, archive, /^the archive belongs to "acme\/q": expected "acme\/other"/],
        [`?${other}`, ciOnly, /^ci belongs to "acme\/q": expected "acme\/other"/],
      ] as const
    ) {
      await refused(await receiver.send(`/upload${path}`, token, { body }), 400, {
        repository: message,
      });
    }
    for (const body of [form(), archive, ciOnly]) {
      const response = await receiver.send(`/upload?${own}`, token, { body });
      assert.equal(response.status, 202, await response.text());
    }
  });

  it("a broken file is refused with its name, the line and what was expected", async () => {
    const path = `/upload/acme/shop?commit=${SHA}`;
    const send = (body: BodyInit) => receiver.send(path, token, { body });
    await refused(await send("<testsuite>\n<testcase/>"), 400, {
      report: /^report\.xml:2:\d+: found .*expected/,
    });
    await refused(await send("{}"), 400, { report: /^report\.xml(:1:1)?: / });
    const form = (...files: [string, string, string][]) => send(formOf(files));
    await refused(await form(["report", "a.xml", JUNIT], ["report", "b.xml", "<html/>"]), 400, {
      report: /^b\.xml:1:\d+: /,
    });
    await refused(await form(["report", "a.xml", JUNIT], ["coverage", "c.txt", "none"]), 400, {
      coverage: /^c\.txt: found "none", expected a coverage report/,
    });
    await refused(await form(["coverage", "c.xml", JUNIT]), 400, { coverage: /^c\.xml/ });
    const archive = (text: string) =>
      archiveOf([
        ["buildpulse.yml", `:commit: ${SHA}\n:repo_name_with_owner: acme/shop\n`],
        ["test_results/a.xml", text],
      ]);
    await refused(await send(await archive("<testsuite>")), 400, {
      body: /^archive: test_results\/a\.xml:1:\d+: /,
    });
    await refused(await send((await archive(JUNIT)).slice(0, -20)), 400, {
      body: /^archive: found .* damaged or cut off/,
    });
  });

  it("a compressed report is refused with what to send", async () => {
    const path = `/upload/acme/shop?commit=${SHA}`;
    const compressed = (text: string) => new Uint8Array(gzipSync(text));
    for (const text of [JUNIT, `\ufeff${JUNIT}`, '{"results":{"tests":[]}}', "TAP version 13\n"]) {
      await refused(await receiver.send(path, token, { body: compressed(text) }), 400, {
        body: /^archive: found a gzip'd file that is not a tar, .* single report uncompressed$/,
      });
    }
    for (const part of ["report", "coverage"]) {
      const form = new FormData();
      form.append(part, new Blob([compressed(JUNIT)]), "report.xml.gz");
      await refused(await receiver.send(path, token, { body: form }), 400, {
        [part]: /^report\.xml\.gz\S*: found a gzip'd file, expected /,
      });
    }
  });

  it("a malformed form is refused with an error", async () => {
    const path = `/upload/acme/shop?commit=${SHA}`;
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    const part = '--b\r\nContent-Disposition: form-data; name="report"; filename="a"\r\n\r\n<';
    for (const body of [part, "--b--\r\n", "nonsense", "--b\r\n"]) {
      const response = await receiver.send(path, token, { headers, body });
      assert.equal(response.status, 400, JSON.stringify(body));
      assert.match(await response.text(), /^\{"errors":\{"(body|report)":\["/);
    }
    const without = { headers: { "content-type": "multipart/form-data" }, body: part };
    await refused(await receiver.send(path, token, without), 400, { body: /broken form/ });
    const body = formOf([["report", "a.xml", JUNIT], ["junit", "b.xml", JUNIT]]);
    await refused(await receiver.send(path, token, { body }), 400, {
      body: /^unknown part "junit": expected report, coverage, codeowners/,
    });
    const odd = formOf([["report", "a.xml", JUNIT], ["__proto__", "b.xml", JUNIT]]);
    await refused(await receiver.send(path, token, { body: odd }), 400, { body: /__proto__/ });
    const empty = await receiver.send(path, token, { body: "" });
    await refused(empty, 400, { body: /^empty body: expected/ });
    const owners = formOf([["codeowners", "a", "x @y"]]);
    await refused(await receiver.send(path, token, { body: owners }), 400, {
      report: /^missing report/,
    });
  });

  it("an upload with a truncated body is invisible and leaves no file behind", async () => {
    const cut = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode("<testsuite>"));
        },
        pull(controller) {
          controller.error(new Error("connection reset"));
        },
      });
    const types = ["text/xml", "multipart/form-data; boundary=b"];
    for (const type of types) {
      const response = await receiver.send(`/upload/acme/shop?commit=${SHA}`, token, {
        body: cut(),
        headers: { "content-type": type },
      });
      assert.equal(response.status, 408);
      await response.body?.cancel();
    }
  });

  it("the liveness probe needs no token", async () => {
    const response = await receiver.app(new Request("http://x/health"));
    assert.deepEqual([response.status, await response.text()], [200, '{"status":"ok"}\n']);
    const head = await receiver.app(new Request("http://x/health", { method: "HEAD" }));
    assert.deepEqual([head.headers.get("content-length"), await head.text()], ["16", ""]);
    const post = await receiver.app(new Request("http://x/health", { method: "POST" }));
    assert.equal(post.status, 405);
    await post.body?.cancel();
  });
});
