import { it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { describeWithDatabases } from "../../../database.ts";
import { commandLine } from "../run_in_process.ts";

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
