import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import { bodyOf, createShop, type Fixture, idOf, NOW } from "./fixture.ts";

const SUBMISSIONS = "/api/repos/:owner/:name/submissions";
const RUNS = "/api/tests/:id/runs";
const LIST = "/api/repos/:owner/:name/tests";

describeWithDatabase("the environment of a submission", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    const failure = { name: "a", conclusion: "failure" as const, message: "boom" };
    const at = (environment: string, more = {}) => ({ environment, job: "unit", ...more });
    // A matrix of two systems at one commit, and each job again.
    await fixture.upload(shop, [failure], at("Windows-X64", { recordedAt: NOW - 400 }));
    await fixture.upload(shop, [{ name: "a" }], at("Linux-X64", { recordedAt: NOW - 300 }));
    await fixture.upload(shop, [failure], at("Windows-X64", { recordedAt: NOW - 200 }));
    await fixture.upload(shop, [{ name: "a" }], { recordedAt: NOW - 100 });
  });

  const get = async (path: string, route: string) => await bodyOf(await fixture.get(path), route);

  it("tells failures on one system from flakiness", async () => {
    assert.equal((await get("/api/repos/acme/shop/tests", LIST)).count, 0);
    const page = await (await fixture.get(`/tests/${idOf(shop, { name: "a" })}`)).text();
    assert.match(
      page,
      /In 14 days it failed on <b>Windows-X64<\/b> only: 2 failures in 2 results there, none in 2 results elsewhere/,
    );
    assert.match(page, /Results by environment/);
  });

  it("is named by the page of a test that failed in another one on the base branch long ago", async () => {
    const repository = await fixture.addRepository("acme", "moved");
    const at = (environment: string, index: number) => ({
      environment,
      branch: "main",
      commitOid: `d${String(index).padStart(6, "0")}`,
      recordedAt: NOW - 50_000 + index,
    });
    const failure = { name: "a", conclusion: "failure" as const, message: "boom" };
    const long = NOW - 200 * 86_400;
    await fixture.upload(repository, [failure], { ...at("windows", 0), recordedAt: long });
    for (const index of Array(40).keys()) {
      await fixture.upload(repository, [{ name: "a" }], at("windows", index + 1));
      await fixture.upload(repository, [{ name: "a" }], at("linux", index + 1));
    }
    await fixture.upload(repository, [failure], { ...at("linux", 90), branch: "fix" });
    const page = await (await fixture.get(`/tests/${idOf(repository, { name: "a" })}`)).text();
    assert.match(page, /In 14 days it failed on <b>linux<\/b> only: 1 failure in 41 results there/);
  });

  it("is shown and filters", async () => {
    const environments = async (filter: string) => {
      const path = `/api/repos/acme/shop/submissions?environment=${filter}`;
      const { submissions } = await get(path, SUBMISSIONS);
      return submissions.map((one: { environment: string }) => one.environment);
    };
    assert.deepEqual(await environments("win*,Windows*"), ["Windows-X64", "Windows-X64"]);
    assert.deepEqual(await environments("*"), ["Windows-X64", "Linux-X64", "Windows-X64"]);
    assert.deepEqual(await environments(""), ["", "Windows-X64", "Linux-X64", "Windows-X64"]);
    assert.deepEqual(await environments("%,none"), []);
    const { runs } = await get(
      `/api/tests/${idOf(shop, { name: "a" })}/runs?environment=Linux-X64`,
      RUNS,
    );
    assert.deepEqual(
      runs.map((run: { environment: string; conclusion: string }) => [
        run.environment,
        run.conclusion,
      ]),
      [["Linux-X64", "passing"]],
    );
  });

  it("decides on the page of a build: a pass on another system is not a retry", async () => {
    const build = { buildUrl: "https://ci.example.org/matrix", commitOid: "ab12cd3" };
    const failures = (name: string) => ({ name, conclusion: "failure" as const, message: "boom" });
    const upload = (environment: string, at: number, ...results: object[]) =>
      fixture.upload(shop, results, { ...build, environment, job: "unit", recordedAt: NOW - at });
    await upload("Windows-X64", 90, failures("windows only"), failures("run again"));
    await upload("Linux-X64", 80, { name: "windows only" }, { name: "run again" });
    const { submissionId } = await upload("Windows-X64", 70, { name: "run again" });
    const page = await (await fixture.get(`/repos/acme/shop/builds/${submissionId}`)).text();
    const [failed, retried] = page.split("Passed after a retry");
    assert.match(failed!, /windows only/);
    assert.match(retried!, /run again/);
    assert.doesNotMatch(retried!, /windows only/);
  });

  it("is refused with more patterns than are matched", async () => {
    const many = Array.from({ length: 21 }, (_, index) => index).join();
    const response = await fixture.get(`/api/repos/acme/shop/tests?environment=${many}`);
    assert.equal(response.status, 400);
    assert.deepEqual(await response.json(), {
      errors: {
        environment: ["invalid environment: expected at most 20 patterns and 2000 characters"],
      },
    });
  });
});
