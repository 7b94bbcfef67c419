import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { type Running, start } from "./program.ts";
import { createAcme, newServiceData, type ServiceData } from "./prepare.ts";

describe("a service that is stopped", () => {
  let data: ServiceData;
  let environment: Record<string, string> = {};
  let token = "";

  before(async () => {
    data = await newServiceData();
    environment = data.environment;
    token = (await createAcme(environment)).api;
  });
  after(() => data.remove());

  const ask = (server: Running) =>
    fetch(`${server.url}/api`, { headers: { authorization: `Bearer ${token}` } });

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`answers requests from before ${signal}, and ends with 0 within its deadline`, async () => {
      const server = await start(["serve", "--port", "0"], environment);
      const answers = Array.from({ length: 20 }, async () => (await ask(server)).status);
      // They are under way, some of them answered.
      await Promise.race(answers);
      const begun = performance.now();
      const { code, stderr } = await server.stop(signal);
      assert.equal(code, 0, stderr);
      assert.ok(performance.now() - begun < 10_000);
      const statuses = await Promise.allSettled(answers);
      // Connections that were not accepted yet may be refused, but no response is wrong.
      for (const answer of statuses) {
        if (answer.status === "fulfilled") assert.equal(answer.value, 204);
      }
      const lines = stderr.trim().split("\n").slice(1).map((line) => JSON.parse(line));
      const answered = statuses.filter(({ status }) => status === "fulfilled").length;
      assert.ok(lines.length >= answered, "no line of the log is lost");
    });
  }
});
