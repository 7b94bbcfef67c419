import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { pruneRepository } from "../../db/write/prune.ts";
import { deleteRepository, type Repository } from "../../db/admin/repositories.ts";
import { silentLog } from "../silent_log.ts";
import { WINDOW_SECONDS } from "../../lib/base/time.ts";
import { createApp } from "../../routes/mod.ts";
import { describeWithDatabases } from "../database.ts";
import { gatedSql } from "../oracle/gated_sql.ts";
import { createShop, DAY, type Fixture, flaky, idOf, NOW, request } from "./fixture.ts";

describeWithDatabases("a request during which the data changes", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  let uploads = 0;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    await upload();
  });

  /** Changes all responses. */
  const upload = async () => {
    uploads++;
    const coverage = { coveredLineCount: uploads, lineCount: 10_000 };
    await fixture.upload(shop, flaky("t"), { commitOid: `c${uploads}`, coverage });
    await fixture.upload(shop, [{ name: "t" }], { commitOid: `c${uploads} passed` });
  };

  const paths = () => [
    "/api/repos/acme/shop/submissions",
    "/api/repos/acme/shop/tests",
    "/api/v1/flaky/tests?quarantine=false&include=time_consumed",
    "/api/repos/acme/shop/failures",
    `/api/tests/${idOf(shop, { name: "t" })}/results`,
    `/api/tests/${idOf(shop, { name: "t" })}/runs`,
    `/api/tests/${idOf(shop, { name: "t" })}/failures`,
    "/api/v1/flaky/badges?repository=shop",
    "/api/v1/coverage/badges?repository=shop",
  ];

  /** Sends a request to a new app; `meanwhile` runs before the n-th statement. */
  async function ask(
    path: string,
    { place = -1, meanwhile, token = fixture.token }: {
      place?: number;
      meanwhile?: () => Promise<unknown>;
      token?: string;
    } = {},
  ) {
    let passed = 0;
    const gate = async () => {
      if (passed++ === place) await meanwhile?.();
    };
    const app = createApp({
      sql: gatedSql(database().sql, gate),
      now: () => NOW,
      windowSeconds: WINDOW_SECONDS,
      log: silentLog,
    });
    const headers = { authorization: `Bearer ${token}` };
    const response = await app(request(path, headers));
    const body = await response.text();
    return { status: response.status, etag: response.headers.get("etag"), body, places: passed };
  }

  it("returns the body that its entity tag names, before whichever statement an upload commits", async () => {
    for (const path of paths()) {
      const { places } = await ask(path);
      // Before and after the look-up of the token, and before the snapshot, which ends after the response.
      assert.ok(places >= 3, `${path} has ${places} places`);
      for (let place = 0; place < places; place++) {
        const earlier = await ask(path);
        const between = await ask(path, { place, meanwhile: upload });
        const later = await ask(path);
        assert.notEqual(earlier.etag, later.etag);
        const expected = between.etag === earlier.etag ? earlier : later;
        assert.equal(between.etag, expected.etag, `${path} at ${place}`);
        assert.equal(between.body, expected.body, `${path} at ${place}`);
      }
    }
  });

  it("is a 401 when its token is revoked between the check of the token and the first query", async () => {
    for (const path of paths()) {
      const token = await fixture.addToken({ label: "revoked" });
      const meanwhile = () => database().sql`delete from api_token where label = 'revoked'`;
      const { status, body } = await ask(path, { place: 1, meanwhile, token });
      assert.deepEqual([status, body], [401, ""], path);
    }
  });

  it("is a 404 when its repository is deleted between two statements", async () => {
    for (const [index, path] of paths().entries()) {
      const repository = await fixture.addRepository("acme", `gone-${index}`);
      await fixture.upload(repository, flaky("t"));
      const id = idOf(repository, { name: "t" });
      const gone = path.replaceAll("shop", repository.name).replace(
        /tests\/[0-9a-f]{24}/,
        `tests/${id}`,
      );
      const meanwhile = () => database().sql.begin((tx) => deleteRepository(tx, repository));
      const { status } = await ask(gone, { place: 1, meanwhile });
      const expected = path.includes("quarantine") ? 200 : 404;
      assert.equal(status, expected, gone);
    }
  });

  it("is a 404 when its submission is pruned between two statements", async () => {
    for (const place of [1, 2, 3]) {
      const { submissionId } = await fixture.upload(shop, [{ name: "t" }], {
        recordedAt: NOW - 20 * DAY,
        commitOid: `pruned ${place}`,
      });
      const { repositoryId } = shop;
      const cutoff = NOW - 15 * DAY;
      const { status, body } = await ask(`/api/repos/acme/shop/submissions/${submissionId}/tests`, {
        place,
        meanwhile: () => pruneRepository(database().sql, { repositoryId, cutoff }),
      });
      // Found by the first statement; the others read one snapshot.
      if (status === 200) assert.equal(JSON.parse(body).count, 1);
      else assert.equal(status, 404);
      if (place === 1) assert.equal(status, 404);
    }
  });

  it("is answered even if the data changes before and after every statement", async () => {
    const { sql } = database();
    const change = async () => {
      await sql`update repository_state set data_version = data_version + 1`;
    };
    const app = createApp({
      sql: gatedSql(sql, change),
      now: () => NOW,
      windowSeconds: WINDOW_SECONDS,
      log: silentLog,
    });
    const headers = { authorization: `Bearer ${fixture.token}` };
    for (const path of paths()) {
      const response = await app(request(path, headers));
      assert.equal(response.status, 200, path);
      await response.body?.cancel();
    }
  });

  it("is retried once when a standby cancels its statement or its connection is lost", async () => {
    for (const code of ["40001", "CONNECTION_CLOSED"]) {
      for (const [failures, expected] of [[1, 200], [2, 500]]) {
        let left = failures!;
        const { sql } = database();
        const begin = (...values: Parameters<typeof sql.begin>) =>
          left-- > 0
            ? Promise.reject(Object.assign(new Error("a passing error"), { code }))
            : sql.begin(...values);
        const app = createApp({
          sql: new Proxy(sql, {
            get: (target, name) => name === "begin" ? begin : Reflect.get(target, name),
          }),
          now: () => NOW,
          windowSeconds: WINDOW_SECONDS,
          log: silentLog,
        });
        const headers = { authorization: `Bearer ${fixture.token}` };
        assert.equal((await app(request(paths()[3]!, headers))).status, expected, code);
      }
    }
  });
});
