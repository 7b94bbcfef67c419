import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { createOrganization } from "../../../db/admin/organizations.ts";
import {
  distributeDatabase,
  isDistributed,
  loadWorkers,
  repositoryTables,
} from "../../../db/schema/distribute.ts";
import { migrate, SCHEMA_VERSION } from "../../../db/schema/migrate.ts";
import { migrations } from "../../../db/schema/migrations/mod.ts";
import { describeWithCluster, describeWithDatabases, dropEverything } from "../../database.ts";
import { createFixture, flaky } from "../../routes/fixture.ts";

/** Most of what later migrations may do to a distributed database. */
const LATER = `
  create table note (
    repository_id bigint not null,
    note_no integer not null,
    body text not null,
    primary key (repository_id, note_no)
  );
  create table setting (name text primary key, value text not null);
  alter table submission add column runner_pool text not null default '';
  alter table submission drop constraint submission_repository_id_key_key;
  alter table submission add constraint submission_repository_id_key_key unique (repository_id, key);
  create index submission_runner_pool on submission (repository_id, runner_pool);
  alter table test rename column file to path;
  update quarantine set quarantined_by = 'unknown' where quarantined_by is null;
  create or replace function stored_submission(repository_id bigint, submission_id bytea)
  returns table (key text)
  language sql stable as $$
    select s.key || s.runner_pool from submission s
    where s.repository_id = $1 and s.submission_id = $2
  $$;
  drop table test_tag_set;`;

describeWithDatabases("distribution without Citus", (database) => {
  it("says what is missing", async () => {
    const { sql } = database();
    // TEST_DATABASE_URL may name a cluster.
    if (!await isDistributed(sql)) {
      assert.deepEqual(await loadWorkers(sql), []);
      await assert.rejects(distributeDatabase(sql), /extension citus: expected/);
    }
  });
});

describeWithCluster("distribution", (database) => {
  async function distributedTables(): Promise<string[]> {
    const rows = await database().sql<{ name: string }[]>`
      select logicalrelid::text as name from pg_dist_partition
      where partmethod = 'h' and colocationid = (
        select colocationid from pg_dist_partition
        where logicalrelid = 'repository_state'::regclass)`;
    return rows.map(({ name }) => name).sort();
  }

  it("distributes every table of repositories, in one colocation group", async () => {
    const { sql } = database();
    assert.deepEqual(await distributedTables(), (await repositoryTables(sql)).sort());
    assert.deepEqual(await distributeDatabase(sql), []);
  });

  it("is described by its workers", async () => {
    const workers = await loadWorkers(database().sql);
    assert.ok(workers.length > 1);
    for (const { name, isReachable, shardCount, bytes } of workers) {
      assert.match(name, /^[\w.-]+:\d+$/);
      assert.ok(isReachable && shardCount > 0 && bytes > 0, name);
    }
  });

  it("takes a database with data, and changes no response", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql);
    assert.equal(await isDistributed(sql), false);
    const fixture = await createFixture(database(), { name: "acme" });
    const repositories = [];
    for (const name of ["shop", "web", "app"]) {
      const repository = await fixture.addRepository("acme", name);
      await fixture.upload(repository, [...flaky(`a ${name}`), { name: "b" }], {
        tags: ["nightly"],
      });
      repositories.push(repository);
    }
    const paths = [
      "/api/me/repositories",
      "/api/v1/flaky/tests?include=tags,time_consumed",
      "/api/v1/flaky/tests?branch=main",
      ...repositories.flatMap(({ name }) => [
        `/api/repos/acme/${name}/submissions`,
        `/api/repos/acme/${name}/failures`,
        `/api/v1/flaky/badges?repository=${name}`,
      ]),
    ];
    const ask = () =>
      Promise.all(paths.map(async (path) => {
        const response = await fixture.get(path);
        return {
          status: response.status,
          etag: response.headers.get("etag"),
          body: await response.text(),
        };
      }));
    const alone = await ask();
    const tables = await distributeDatabase(sql);
    assert.deepEqual(tables.toSorted(), await distributedTables());
    const [local] = await sql<{ bytes: number }[]>`
      select sum(pg_relation_size(logicalrelid))::float8 as bytes from pg_dist_partition`;
    assert.equal(local?.bytes, 0, "nothing is left on the coordinator");
    assert.deepEqual(await ask(), alone);
    await fixture.upload(repositories[0]!, flaky("another"), { commitOid: "another" });
    const shop = await (await fixture.get("/api/repos/acme/shop/tests")).json();
    assert.equal(shop.count, 2);
  });

  it("is kept by later migrations, which distribute new tables too", async () => {
    const { sql } = database();
    await migrate(sql, [...migrations, LATER]);
    const tables = await distributedTables();
    assert.ok(tables.includes("note") && !tables.includes("setting"), tables.join());
    assert.ok(!tables.includes("test_tag_set"));
    const [submission] = await sql<{ repositoryId: number; id: string; key: string }[]>`
      select repository_id::float8 as "repositoryId", encode(submission_id, 'hex') as id, key
      from submission limit 1`;
    // As the first statement of a request calls it.
    const [found] = await sql<{ key: string }[]>`
      select f.key from repository r
      cross join lateral stored_submission(r.repository_id, decode(${submission!.id}, 'hex')) f
      where r.repository_id = ${submission!.repositoryId}`;
    assert.equal(found?.key, submission!.key);
    assert.equal(migrations.length, SCHEMA_VERSION);
  });

  it("refuses a coordinator without workers", async () => {
    const { sql } = database();
    await dropEverything(sql);
    await migrate(sql);
    await createOrganization(sql, { name: "alone", purchaseUnitCount: 0, createdAt: 0 });
    await sql`
      select citus_set_node_property(nodename, nodeport, 'shouldhaveshards', false) from pg_dist_node`;
    await assert.rejects(distributeDatabase(sql), /no workers: expected some/);
  });
});
