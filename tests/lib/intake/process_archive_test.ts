import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import {
  type ArchiveStorage,
  StorageError,
  type StoredArchive,
} from "../../../lib/storage/storage.ts";
import {
  claimArchive,
  findSetAside,
  releaseArchive,
  retryFailedArchives,
} from "../../../db/admin/archives.ts";
import { Metrics } from "../../../lib/base/metrics.ts";
import { processArchive, type WatcherContext } from "../../../lib/intake/process_archive.ts";
import { ArchiveReader } from "../../../lib/intake/archive_reader.ts";
import { listQuarantined } from "../../../db/admin/quarantine.ts";
import { setPolicy } from "../../../db/admin/quarantine_policy.ts";
import type { Organization } from "../../../db/admin/organizations.ts";
import { deleteRepository, findOrCreateRepository } from "../../../db/admin/repositories.ts";
import { pause } from "../../../lib/base/delay.ts";
import { DEFAULT_POLICY } from "../../../lib/analysis/quarantine_policy.ts";
import { createLog } from "../../../lib/base/log.ts";
import { silentLog } from "../../silent_log.ts";
import { describeWithDatabases, openAgain } from "../../database.ts";
import { newOrganization } from "../../organizations.ts";
import { archiveOf, reportOf } from "../report/archive/make_archive.ts";

const NOW = 1_790_000_000;

describeWithDatabases("processing an archive", (database) => {
  let organization: Organization;
  let next = 0;
  const reader = new ArchiveReader();

  before(async () => {
    organization = await newOrganization(database().sql);
  });

  after(() => reader.close());

  /** The outcome of an archive that no other watcher has. */
  async function process(context: WatcherContext, archive: StoredArchive) {
    const outcome = await processArchive(context, archive, reader);
    assert.ok(outcome);
    return outcome;
  }

  /** A watcher of one archive, which is read through `open`. */
  async function watcher(
    { repository, report = reportOf("a"), metadata = ":commit: abc\n", onOpen }: {
      repository: string;
      report?: string;
      metadata?: string;
      onOpen(time: number): Promise<void>;
    },
  ) {
    const bytes = await archiveOf([
      ["buildpulse.yml", `${metadata}:repo_name_with_owner: ${repository}\n`],
      ["test_results/a.xml", report],
      ["coverage/lcov.info", "SF:a\nDA:1,1\nend_of_record\n"],
    ]);
    let time = 0;
    const storage: ArchiveStorage = {
      name: `source ${next++}`,
      list: () => {
        throw new Error("not asked");
      },
      open: ({ key }) => ({
        name: key,
        async *open() {
          await onOpen(++time);
          yield bytes;
        },
      }),
    };
    const context: WatcherContext = {
      sql: database().sql,
      storage,
      organization,
      leaseSeconds: 60,
      now: () => NOW,
      listener: { note: () => {} },
      log: silentLog,
      origin: { author: "test", command: "watch" },
    };
    return { context, archive: { key: "a.gz", version: "1", uploadedAt: NOW, isComplete: true } };
  }

  async function submissions(repository: string) {
    return await database().sql<
      { key: string; status: string; count: number; version: number }[]
    >`
      select key, status, test_result_count as count,
        encode(submission_id, 'hex') as id, s.data_version::float8 as version
      from submission s join repository r using (repository_id)
      where owner || '/' || name = ${repository}`;
  }

  it("counts as uploaded when it was read: until then others may have asked as of that moment", async () => {
    let now = NOW;
    const { context, archive } = await watcher({
      repository: "acme/slow",
      onOpen: () => Promise.resolve(void (now = NOW + 40)),
    });
    const outcome = await process({ ...context, now: () => now }, archive);
    assert.equal(outcome.status, "processed", JSON.stringify(outcome));
    const rows = await database().sql<{ recorded: number; uploaded: number }[]>`
      select extract(epoch from recorded_at)::float8 as recorded,
        extract(epoch from uploaded_at)::float8 as uploaded
      from submission s join repository r using (repository_id) where r.name = 'slow'`;
    assert.deepEqual(rows.map((row) => ({ ...row })), [{ recorded: NOW, uploaded: NOW + 40 }]);
  });

  it("fails when its tags do not fit into the repository", async () => {
    const { sql } = database();
    const onOpen = () => Promise.resolve();
    const first = await watcher({ repository: "acme/tagged", onOpen });
    await process(first.context, first.archive);
    await sql`
      insert into test_tag
      select repository_id, 'build-' || n, '{[0,1)}' from repository, generate_series(1, 2000) as n
      where name = 'tagged'`;
    const metadata = ":commit: abc\n:tags: new\n";
    const report = reportOf("b");
    const second = await watcher({ repository: "acme/tagged", report, metadata, onOpen });
    const outcome = await process(second.context, { ...second.archive, key: "b.gz" });
    assert.equal(outcome.status, "failed");
    assert.match("reason" in outcome ? outcome.reason : "", /tag "new" .* at most 2000/);
  });

  it("keeps an invalid commit as text, with a note, and drops the credentials of the URL", async () => {
    const notes: string[] = [];
    const { context, archive } = await watcher({
      repository: "acme/null",
      metadata: ":commit: null\n:build_url: https://user:pw@ci.example/1?a=b@c\n",
      onOpen: () => Promise.resolve(),
    });
    const listener = { note: (text: string) => void notes.push(text) };
    const outcome = await process({ ...context, listener }, archive);
    assert.ok(outcome.status === "processed");
    assert.deepEqual([outcome.commit_oid, outcome.build_url], [
      "null",
      "https://ci.example/1?a=b@c",
    ]);
    assert.match(
      notes.join("\n"),
      /^a\.gz: kept the commit "null" as text: expected 7 to 64 hex digits$/,
    );
  });

  it("applies the quarantine policy of its repository", async () => {
    const { sql } = database();
    const policy = { ...DEFAULT_POLICY, disruptions: 1, codeVersions: 1, minResults: 2 };
    const { organizationId } = organization;
    const lines: string[] = [];
    const log = createLog({ write: (line) => void lines.push(line), now: () => NOW });
    const take = async (repository: string, key: string) => {
      const report = `<testsuite name="s"><testcase name="flaky"><flakyFailure/></testcase>` +
        "</testsuite>";
      const { context, archive } = await watcher({
        repository,
        report,
        onOpen: () => Promise.resolve(),
      });
      const outcome = await process({ ...context, log }, { ...archive, key });
      assert.equal(outcome.status, "processed");
    };
    await take("acme/unset", "a.gz");
    assert.deepEqual(await listQuarantined(sql, organizationId, NOW), []);
    await setPolicy(sql, { organizationId, repositoryId: null }, policy);
    await take("acme/policy", "a.gz");
    const [entry, ...others] = await listQuarantined(sql, organizationId, NOW);
    assert.deepEqual([entry?.repository.name, entry?.name, others.length], ["policy", "flaky", 0]);
    assert.match(
      lines.at(-1)!,
      / info test quarantined repository=acme\/policy test_id=[0-9a-f]{24} test=flaky reason="1 disr/,
    );
    await setPolicy(sql, { organizationId, repositoryId: null }, null);
    await take("acme/off", "a.gz");
    assert.equal((await listQuarantined(sql, organizationId, NOW)).length, 1);
  });

  it("is stored even if the quarantine policy cannot be applied", async () => {
    const { sql } = database();
    const lines: string[] = [];
    const log = createLog({ write: (line) => void lines.push(line), now: () => NOW });
    const { context, archive } = await watcher({
      repository: "acme/no-policy",
      onOpen: () => Promise.resolve(),
    });
    await sql`update organization set quarantine_policy = '"nonsense"'`;
    await sql`alter table quarantine rename to quarantine_away`;
    try {
      const outcome = await process({ ...context, log }, archive);
      assert.equal(outcome.status, "processed");
      assert.match(
        lines.at(-1)!,
        / warn quarantine policy not applied repository=acme\/no-policy /,
      );
    } finally {
      await sql`alter table quarantine_away rename to quarantine`;
      await sql`update organization set quarantine_policy = null`;
    }
  });

  it("shows it as processing meanwhile, and under the same id afterwards", async () => {
    let meanwhile: unknown;
    const { context, archive } = await watcher({
      repository: "acme/shown",
      onOpen: async (time) => {
        if (time === 2) [meanwhile] = await submissions("acme/shown");
      },
    });
    const outcome = await process(context, archive);
    assert.equal(outcome.status, "processed");
    const [after] = await submissions("acme/shown");
    const version = after!.version - 2;
    assert.deepEqual(meanwhile, { ...after, status: "processing", count: 0, version });
    assert.deepEqual([after?.status, after?.count], ["processed", 1]);
  });

  it("is left for another attempt if its repository is deleted while it is listed", async () => {
    // On the embedded database no transaction runs during another.
    if (database().kind === "embedded" || database().isDistributed) return;
    const onOpen = () => Promise.resolve();
    const { context, archive } = await watcher({ repository: "acme/deleted", onOpen });
    const creation = { owner: "acme", name: "deleted", organization, createdAt: NOW };
    const { sql } = database();
    const { repositoryId } = await sql.begin((tx) => findOrCreateRepository(tx, creation));
    const deleter = await openAgain(database());
    let outcome;
    try {
      let processing: ReturnType<typeof process> | undefined;
      await deleter.sql.begin(async (tx) => {
        await tx`select from repository_state where repository_id = ${repositoryId} for update`;
        processing = process(context, archive);
        for (let count = 0, tries = 0; count === 0; tries++) {
          assert.ok(tries < 1_000, "the watcher does not wait for the lock");
          await pause(10);
          const [row] = await tx<{ count: number }[]>`
            select count(*)::int as count from pg_stat_activity
            where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`;
          count = row!.count;
        }
        await deleteRepository(tx, { ...organization, repositoryId });
      });
      outcome = await processing;
    } finally {
      await deleter.close();
    }
    assert.deepEqual(outcome, {
      status: "left",
      key: "a.gz",
      reason: "the repository was deleted during the upload",
      isSystemFault: false,
    });
    assert.equal((await process(context, archive)).status, "processed");
  });

  it("stores nothing once another watcher has taken over", async () => {
    const { context, archive } = await watcher({
      repository: "acme/lost",
      onOpen: async (time) => {
        if (time !== 2) return;
        await database().sql`
          update archive set claim_id = gen_random_uuid() where source = ${context.storage.name}`;
      },
    });
    const outcome = await process(context, archive);
    assert.deepEqual(outcome, {
      status: "left",
      key: "a.gz",
      reason: "another watcher has taken over",
      isSystemFault: false,
    });
    assert.deepEqual((await submissions("acme/lost")).map(({ status }) => status), ["processing"]);
    const [coverage] = await database().sql<{ count: number }[]>`
      select count(*)::int from coverage_report join repository using (repository_id)
      where name = 'lost'`;
    assert.equal(coverage?.count, 0);
  });

  it("blames the storage and not the archive when it cannot be read", async () => {
    let isBroken = true;
    const { context, archive } = await watcher({
      repository: "acme/later",
      onOpen: (time) =>
        isBroken && time === 2
          ? Promise.reject(new StorageError("GET a.gz: HTTP 503"))
          : Promise.resolve(),
    });
    assert.deepEqual(await process(context, archive), {
      status: "left",
      key: "a.gz",
      reason: "GET a.gz: HTTP 503",
      isSystemFault: true,
    });
    assert.deepEqual((await submissions("acme/later")).map(({ status }) => status), ["processing"]);
    isBroken = false;
    assert.equal((await process(context, archive)).status, "processed");
    assert.deepEqual((await submissions("acme/later")).map(({ status }) => status), ["processed"]);
  });

  it("does not count storage errors as attempts of an archive", async () => {
    let failures = 0;
    const { context, archive } = await watcher({
      repository: "acme/storm",
      onOpen: () =>
        failures < 3
          ? Promise.reject(new StorageError(`failure ${++failures}`))
          : Promise.resolve(),
    });
    for (let look = 1; look <= 3; look++) {
      const { status } = await process(context, archive);
      assert.equal(status, "left", `look ${look}`);
      // One more would be the last.
      await database().sql`
        update archive set attempt_count = 19
        where source = ${context.storage.name} and attempt_count = 0`;
    }
    assert.equal((await process(context, archive)).status, "processed");
  });

  it("gives up on an archive that the database refuses every time", async () => {
    const { context, archive } = await watcher({
      repository: "acme/refused",
      onOpen: () => Promise.resolve(),
    });
    // Not a trigger: Citus has none on distributed tables.
    await database().sql`
      alter table submission add constraint refuse
      check (case status when 'processed' then 1 / (length(status) - 9) end is null) not valid`;
    try {
      for (let look = 1; look <= 20; look++) {
        assert.equal((await process(context, archive)).status, "left", `look ${look}`);
      }
      assert.deepEqual(await process(context, archive), {
        status: "failed",
        key: "a.gz",
        reason: "failed after 20 attempts: division by zero",
      });
    } finally {
      await database().sql`alter table submission drop constraint refuse`;
    }
  });

  for (
    const [what, metadata] of [
      ["has no commit", ""],
      ["has a branch of two lines", ':commit: abc\n:branch: "a\\nb"\n'],
      ["was recorded in two days", `:commit: abc\n:timestamp: "${NOW + 172_800}000000000"\n`],
    ] as const
  ) {
    it(`lists as failed under its repository what ${what}`, async () => {
      const repository = `acme/${what.replaceAll(" ", "-")}`;
      const { context, archive } = await watcher({ repository, metadata, onOpen: async () => {} });
      assert.equal((await process(context, archive)).status, "failed");
      const rows = await submissions(repository);
      assert.deepEqual(rows.map(({ key, status, count }) => [key, status, count]), [
        ["a.gz", "failed", 0],
      ]);
    });
  }

  it("keeps the commit, branch and build URL of a failed archive, as far as readable", async () => {
    const metadata = ":commit: abc\n:branch: main\n:build_url: https://ci.example/1\n" +
      ":timestamp: yesterday\n";
    const { context, archive } = await watcher({
      repository: "acme/kept",
      metadata,
      onOpen: async () => {},
    });
    const outcome = await process(context, archive);
    assert.match(
      "reason" in outcome ? outcome.reason : "",
      /timestamp.*found "yesterday", expected/,
    );
    const rows = await database().sql`
      select s.status, commit_oid, branch, build_url
      from submission s join repository r using (repository_id) where r.name = 'kept'`;
    assert.deepEqual({ ...rows[0] }, {
      status: "failed",
      commit_oid: "abc",
      branch: "main",
      build_url: "https://ci.example/1",
    });
  });

  it("is set aside when the process ended three times while it had it", async () => {
    const { sql } = database();
    const metrics = new Metrics();
    const { context, archive } = await watcher({
      repository: "acme/huge",
      onOpen: () => Promise.resolve(),
    });
    const { name: source } = context.storage;
    const claimAndDie = async () => {
      const claim = { source, key: archive.key, claimId: crypto.randomUUID() };
      const claimed = await claimArchive(sql, { ...claim, version: "1", leaseSeconds: 60 });
      await sql`update archive set claimed_until = now() where source = ${source}`;
      return claimed;
    };
    for (let time = 0; time < 3; time++) assert.equal((await claimAndDie())?.lostCount, time);
    const outcome = await process({ ...context, metrics }, archive);
    assert.equal(outcome.status, "failed");
    assert.match(
      "reason" in outcome ? outcome.reason : "",
      /^set aside: the process ended 3 times/,
    );
    assert.match(metrics.text(), /archives_set_aside_total 1\n/);
    const [named] = await findSetAside(sql);
    assert.deepEqual({ ...named }, { source, key: archive.key, lostCount: 3 });
    // Tried again as a new one: by hand, and after another upload.
    await retryFailedArchives(sql, source);
    assert.equal((await process(context, archive)).status, "processed");
  });

  it("that was released after an error did not end the process", async () => {
    const { sql } = database();
    const claim = { source: "released", key: "a.gz", claimId: crypto.randomUUID() };
    for (let time = 0; time < 5; time++) {
      const claimed = await claimArchive(sql, { ...claim, version: "1", leaseSeconds: 60 });
      assert.deepEqual([claimed?.attemptCount, claimed?.lostCount], [time + 1, 0]);
      await releaseArchive(sql, { ...claim, reason: "lost", isAttempt: true });
    }
  });

  it("leaves a broken archive to the watcher that has taken over", async () => {
    const { context, archive } = await watcher({
      repository: "acme/broken",
      report: "<testsuite>",
      onOpen: async (time) => {
        if (time !== 2) return;
        await database().sql`
          update archive set claim_id = gen_random_uuid() where source = ${context.storage.name}`;
      },
    });
    assert.deepEqual(await process(context, archive), {
      status: "left",
      key: "a.gz",
      reason: "another watcher has taken over",
      isSystemFault: false,
    });
  });

  it("leaves it to the watcher that has claimed it", async () => {
    const { context, archive } = await watcher({
      repository: "acme/claimed",
      onOpen: async (time) => {
        if (time !== 1) return;
        assert.equal(await processArchive(context, archive, reader), null);
      },
    });
    assert.equal((await process(context, archive)).status, "processed");
  });
});
