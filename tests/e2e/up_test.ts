import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { copyTemplate } from "../database.ts";
import { type Running, start } from "./program.ts";
import { createAcme, runHere } from "./prepare.ts";
import { waitUntil } from "../wait_until.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
/** Upload clients at the same time. */
const CLIENTS = 30;

/** With pauses: many conditions are requests to the process that is waited for. */
function becomesTrue(what: string, isTrue: () => Promise<boolean>): Promise<number> {
  return waitUntil(what, isTrue, { pauseMs: 100 });
}

/** A report of one flaky test and more. */
function reportOf(no: number, tests = 1): string {
  const more = Array.from({ length: tests }, (_, i) => `<testcase classname="c" name="t ${i}"/>`);
  return `<testsuite name="unit"><testcase classname="c" name="flaky ${no}"><flakyFailure/></testcase>` +
    `${more.join("")}</testsuite>`;
}

describe("up, with the embedded database", () => {
  let folder = "";
  let inbox = "";
  let environment: Record<string, string> = {};
  let up: Running;
  let tokens = { api: "", upload: "" };

  before(async () => {
    folder = await copyTemplate();
    inbox = join(folder, "inbox");
    environment = { DATA_DIR: folder };
    up = await startUp();
    tokens = await createAcme(environment);
  });
  after(async () => {
    await up.stop("SIGTERM");
    await Deno.remove(folder, { recursive: true });
  });

  function startUp(): Promise<Running> {
    return start(["up", "--port", "0", "--upload-port", "0"], environment);
  }

  async function send(repository: string, body: BodyInit): Promise<number> {
    const response = await fetch(`${up.uploadUrl}/upload/acme/${repository}?commit=${SHA}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${tokens.upload}` },
      body,
    });
    await response.body?.cancel();
    return response.status;
  }

  /** Number of flaky tests of a repository, 0 when it does not exist yet. */
  async function flakyCount(repository: string): Promise<number> {
    const response = await fetch(
      `${up.url}/api/v1/flaky/tests?quarantine=false&repository=${repository}`,
      { headers: { authorization: `Bearer ${tokens.api}` } },
    );
    const { count = 0 } = await response.json();
    return count;
  }

  async function files(path = inbox): Promise<string[]> {
    const found: string[] = [];
    for await (const { name, isDirectory } of Deno.readDir(path)) {
      if (isDirectory) found.push(...await files(join(path, name)));
      else if (name !== "lock") found.push(name);
    }
    return found;
  }

  it("needs of a job no more than the line of curl in the guides", async () => {
    const guides = await Promise.all(
      ["guides/install.md", "reference/command_line.md"].map((name) =>
        Deno.readTextFile(new URL(`../../docs/${name}`, import.meta.url))
      ),
    );
    const line = 'curl --retry 5 --fail-with-body -H "Authorization: Bearer $UPLOAD_TOKEN" ' +
      '-F report=@reports/junit.xml "$URL/upload/acme/shop?commit=$SHA"';
    assert.ok(guides[1]!.includes(line));
    assert.ok(guides[0]!.includes(line.replace("reports/", "")));
    await Deno.mkdir(join(folder, "reports"));
    await Deno.writeTextFile(join(folder, "reports", "junit.xml"), reportOf(1));
    const curl = async (token: string) => {
      const { code, stdout } = await new Deno.Command("bash", {
        args: ["-c", line],
        cwd: folder,
        env: { UPLOAD_TOKEN: token, URL: up.uploadUrl, SHA },
      }).output();
      return [code, new TextDecoder().decode(stdout)] as const;
    };
    const [code, stdout] = await curl(tokens.upload);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^\{"key":"acme\/shop\/\S+\.gz"\}\n$/);
    await becomesTrue(
      "the flaky test is listed",
      async () => await flakyCount("acme/shop") === 1,
    );
    await becomesTrue("the inbox is empty", async () => (await files()).length === 0);
    // --fail-with-body: 22 for a refusal.
    const [refused, answer] = await curl(tokens.api);
    assert.equal(refused, 22);
    assert.match(
      answer,
      /^\{"message":"an API token, which only reads: expected an upload token/,
    );
  });

  it("accepts thirty concurrent uploads, one of them slow and one truncated", async () => {
    const gate = Promise.withResolvers<void>();
    const slow = send(
      "slow",
      ReadableStream.from((async function* () {
        yield new TextEncoder().encode(reportOf(0).slice(0, 20));
        await gate.promise;
        yield new TextEncoder().encode(reportOf(0).slice(20));
      })()),
    );
    const cut = await Deno.connect({ port: Number(new URL(up.uploadUrl).port) });
    await cut.write(new TextEncoder().encode(
      `PUT /upload/acme/cut?commit=${SHA} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n` +
        `Authorization: Bearer ${tokens.upload}\r\n\r\n${reportOf(0).slice(0, 20)}`,
    ));
    const statuses = await Promise.all(
      Array.from({ length: CLIENTS }, (_, no) => send("many", reportOf(no, 50))),
    );
    assert.deepEqual(statuses, Array(CLIENTS).fill(202));
    cut.close();
    gate.resolve();
    assert.equal(await slow, 202);
    await becomesTrue("all are stored", async () => await flakyCount("many") === CLIENTS);
    await becomesTrue("nothing is left", async () => (await files()).length === 0);
    assert.deepEqual([await flakyCount("slow"), await flakyCount("cut")], [1, 0]);
  });

  it("processes acknowledged uploads after a kill and a restart", async () => {
    for (const [no, signal] of (["SIGKILL", "SIGTERM"] as const).entries()) {
      const sending = Array.from(
        { length: 5 },
        (_, at) => send(`ended-${no}`, reportOf(at, 500)),
      );
      // Handled before some are cut.
      const settled = Promise.allSettled(sending);
      assert.equal(await sending[0], 202);
      const { code, stderr } = await up.stop(signal);
      if (signal === "SIGTERM") assert.equal(code, 0, stderr);
      const acknowledged = (await settled).filter((end) =>
        end.status === "fulfilled" && end.value === 202
      );
      up = await startUp();
      await becomesTrue("nothing is left", async () => (await files()).length === 0);
      const stored = await flakyCount(`ended-${no}`);
      assert.ok(stored >= acknowledged.length, `${stored} of ${acknowledged.length}`);
    }
  });

  it("takes what was deleted as a new upload, with the same bytes too", async () => {
    const again = async () => {
      const path = `/upload/acme/deleted?commit=${SHA}&recorded_at=${recordedAt}`;
      const response = await fetch(`${up.uploadUrl}${path}`, {
        method: "PUT",
        headers: { authorization: `Bearer ${tokens.upload}` },
        body: reportOf(1),
      });
      assert.equal(response.status, 202);
      await becomesTrue("it is there", async () => await flakyCount("acme/deleted") === 1);
      await becomesTrue("nothing is left", async () => (await files()).length === 0);
      return (await response.json()).key as string;
    };
    const recordedAt = new Date(Date.now() - 3_600_000).toISOString();
    const key = await again();
    for (
      const deletion of [
        `submission delete ${key} --org acme --yes`,
        "repo delete acme/deleted --org acme --yes",
      ]
    ) {
      const { code, stderr } = await runHere(deletion.split(" "), environment);
      assert.equal(code, 0, stderr);
      assert.equal(await flakyCount("acme/deleted"), 0);
      assert.equal(await again(), key);
    }
  });

  it("ends with an error that says so when a port is taken", async () => {
    const { port } = new URL(up.uploadUrl);
    const { code, stderr } = await runHere(
      ["up", "--port", "0", "--upload-port", port],
      environment,
    );
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`error: port ${port} of .* in use: use --upload-port \\d+`));
  });
});
