import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import {
  assertBadRequest,
  assertError,
  createFixture,
  DAY,
  type Fixture,
  NOT_FOUND,
  NOW,
  request,
} from "./fixture.ts";

const FLAKINESS = "/api/v1/flaky/badges";
const COVERAGE = "/api/v1/coverage/badges";

describeWithDatabase("badges", (database) => {
  let fixture: Fixture;
  let names = 0;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
  });

  function newRepository(): Promise<Repository> {
    return fixture.addRepository("acme", `repository-${names++}`);
  }

  async function badgeOf(path: string, repository: Repository): Promise<string> {
    const response = await fixture.get(`${path}?repository=${repository.name.toUpperCase()}`);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "image/svg+xml; charset=utf-8");
    assert.equal(response.headers.get("cache-control"), "no-cache");
    assert.match(response.headers.get("etag") ?? "", /^"/);
    return await response.text();
  }

  it("are grey without data", async () => {
    const repository = await newRepository();
    for (const path of [FLAKINESS, COVERAGE]) {
      const svg = await badgeOf(path, repository);
      assert.match(svg, /unknown/);
      assert.doesNotMatch(svg, /\d%/);
    }
  });

  it("show the coverage that was uploaded last, regardless of recorded_at", async () => {
    const repository = await newRepository();
    const add = async (recordedAt: number, coveredLineCount: number) => {
      await fixture.upload(repository, [{ name: String(coveredLineCount) }], {
        recordedAt,
        coverage: { coveredLineCount, lineCount: 100 },
      });
    };
    await add(NOW - 100 * DAY, 50);
    assert.match(await badgeOf(COVERAGE, repository), />50%</);
    await add(NOW - 5, 80);
    await add(NOW - 50, 70);
    assert.match(await badgeOf(COVERAGE, repository), />70%</);
    const response = await fixture.get(
      `${COVERAGE}?repository=acme/${repository.name}&branch_or_pr=main`,
    );
    assert.match(await response.text(), />70%</);
  });

  it("open with a badge token in the address, those of its repository only", async () => {
    const [own, other] = [await newRepository(), await newRepository()];
    const token = await fixture.addToken({
      type: "badge",
      label: "badge",
      repositoryId: own.repositoryId,
    });
    const statusOf = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fixture.app(request(path, headers));
      await response.body?.cancel();
      return response.status;
    };
    const upload = await fixture.addToken({ type: "upload" });
    for (const path of [FLAKINESS, COVERAGE]) {
      const address = `${path}?repository=acme/${own.name}`;
      assert.equal(await statusOf(`${address}&token=${token}`), 200);
      assert.equal(await statusOf(`${path}?repository=${other.name}&token=${token}`), 404);
      assert.equal(await statusOf(`${path}?token=${token}`), 400);
      for (const wrong of ["", fixture.token, upload, token.replace(/.$/, "x")]) {
        assert.equal(await statusOf(`${address}&token=${wrong}`), 401, wrong);
      }
      // A header wins, and a badge token is none for it.
      const authorization = `Bearer ${token}`;
      assert.equal(await statusOf(`${address}&token=${token}`, { authorization }), 401);
    }
    for (const path of ["/api", "/api/v1/flaky/tests", `/api/repos/acme/${own.name}/tests`]) {
      assert.equal(await statusOf(`${path}?token=${token}`), 401);
    }
    await database().sql`
      update api_token set revoked_at = to_timestamp(${NOW}) where label = 'badge'`;
    assert.equal(await statusOf(`${FLAKINESS}?repository=${own.name}&token=${token}`), 401);
  });

  it("need the name of a known repository", async () => {
    for (const path of [FLAKINESS, COVERAGE]) {
      const missing = await fixture.get(path);
      assert.deepEqual(await missing.clone().json(), {
        errors: { repository: ["missing repository: expected name or owner/name"] },
      });
      await assertBadRequest(missing, ["repository"]);
      await assertBadRequest(await fixture.get(`${path}?repository=`), ["repository"]);
      await assertBadRequest(await fixture.get(`${path}?repository_id=1`), ["repository"]);
      await assertError(await fixture.get(`${path}?repository=none`), 404, NOT_FOUND);
      await assertError(await fixture.get(`${path}?repository=%00`), 404, NOT_FOUND);
    }
  });
});
