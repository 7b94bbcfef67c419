import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Repository } from "../../../../db/admin/repositories.ts";
import { describeWithDatabase } from "../../../database.ts";
import { bodyOf, createShop, type Fixture, idOf, NOW } from "../../../routes/fixture.ts";
import { type SentStatement, StatementRecorder } from "../../../db/statements/recorder.ts";
import { waitUntil } from "../../../wait_until.ts";
import { commandLine } from "../run_in_process.ts";

const recorder = new StatementRecorder();

/** A commit of the base branch. */
const commitAt = (index: number) => `c${index.toString(16).padStart(39, "0")}`;

const LATER = commitAt(12);
const UNSTORED = "e".repeat(40);

/** A checkout in which UNSTORED is the parent of the last commit. */
function git(args: string[]): Promise<string> {
  const text = args.join(" ");
  if (/^rev-parse .*(HEAD~1|e{40})\^\{commit\}$/.test(text)) return Promise.resolve(UNSTORED);
  if (text.startsWith("rev-list") && text.endsWith(`^${UNSTORED}`)) return Promise.resolve(LATER);
  return Promise.resolve("");
}

describeWithDatabase("evidence", (database) => {
  const cli = commandLine(database, { now: () => NOW, git });
  let fixture: Fixture;
  let shop: Repository;
  let id: string;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    for (const [index, sign] of [..."F.F.F...............F......................"].entries()) {
      const failed = { name: "a", conclusion: "failure" as const, message: "boom" };
      const recordedAt = NOW - 5_000 + index;
      const options = { branch: "main", recordedAt, commitOid: commitAt(index) };
      await fixture.upload(shop, [sign === "F" ? failed : { name: "a" }], options);
    }
    id = idOf(shop, { name: "a" });
  });

  it("ends with 0 after enough passes, 1 after a failure and 3 in between", async () => {
    // 22 passes after 4 failures in 21 runs.
    const enough = await cli(["evidence", id, "--since", commitAt(21)]);
    const failed = await cli(["evidence", id, "--since", commitAt(10)]);
    const early = await cli(["evidence", id, "--since", commitAt(30)]);
    assert.deepEqual([enough.code, failed.code, early.code], [0, 1, 3]);
    assert.match(
      enough.stdout,
      /^enough: 22 passes since c000000; of 100 tests that fail as often, 4 would still pass by luck; 20 passes are needed for 95 %\n/,
    );
    assert.match(early.stdout, /^not yet: 13 passes since/);
    assert.match(failed.stdout, /^failed again: 32 passes since c000000, and a failure\n/);
  });

  it("prints the object of the API", async () => {
    const { stdout } = await cli(["evidence", id, "--since", commitAt(21), "--json"]);
    const response = await fixture.get(`/api/tests/${id}/evidence?since=${commitAt(21)}`);
    const found = await bodyOf(response, "/api/tests/:id/evidence");
    assert.deepEqual(JSON.parse(stdout), found);
  });

  it("counts from the first run after a commit that never ran, where the checkout knows it", async () => {
    const { code, stdout } = await cli(["evidence", id, "--since", "HEAD~1", "--json"]);
    assert.equal(code, 1);
    assert.equal(JSON.parse(stdout).calm.passes, 30);
  });

  it("asks the checkout while it holds no transaction", async () => {
    let count = 0;
    const sent = (pattern: RegExp) => statements.filter(({ text }) => pattern.test(text)).length;
    const statements: SentStatement[] = [];
    const slowGit = async (args: string[]) => {
      if (args[0] === "rev-list") {
        count++;
        const isClosed = () => {
          statements.push(...recorder.take());
          return sent(/^begin/) > 0 && sent(/^begin/) === sent(/^commit/);
        };
        await waitUntil("the snapshot is closed", isClosed, { deadlineMs: 10_000 });
      }
      return await git(args);
    };
    recorder.take();
    const { stderr } = await cli(["evidence", id, "--since", "HEAD~1"], { git: slowGit });
    assert.equal(stderr, "");
    assert.equal(count, 1);
  });

  it("ends with 2 when there is no answer", async () => {
    for (
      const [argv, message] of [
        [["evidence", id], /missing required option '--since <commit>'/],
        [["evidence", id, "--since", ""], /--since/],
        [["evidence", id, "--since", "d".repeat(40)], /has no run on main/],
        [
          ["evidence", id, "--since", commitAt(3), "--environment", "nowhere"],
          /has no run on main in these environments/,
        ],
        [
          ["evidence", id, "--since", "c000000"],
          /--since: commit c000000 is abbreviated and fits several: give its whole id/,
        ],
        [["evidence", id, "--since", "nowhere"], /unknown commit "nowhere"/],
        [["evidence", "0".repeat(24), "--since", commitAt(3)], /unknown test "0{24}"/],
        [["evidence", "nonsense", "--since", commitAt(3)], /expected 24 hex digits/],
      ] as const
    ) {
      const { code, stdout, stderr } = await cli([...argv]);
      assert.deepEqual([code, stdout], [2, ""], argv.join(" "));
      assert.match(stderr, message);
    }
    const away = await cli(["evidence", id, "--since", commitAt(3)], {
      openDatabase: () => Promise.reject(new Error("no database")),
    });
    assert.deepEqual([away.code, away.stdout], [2, ""]);
  });

  it("says that the test does not run any more, whether it passed often enough or not", async () => {
    for (const index of Array(20).keys()) {
      const options = { branch: "main", recordedAt: NOW - 1_000 + index };
      await fixture.upload(shop, [{ name: "b" }], { ...options, commitOid: commitAt(100 + index) });
    }
    const stopped =
      /\nStopped running: last on main 21 Sep; its job has run 20 times without it since\n$/;
    const enough = await cli(["evidence", id, "--since", commitAt(21)]);
    assert.equal(enough.code, 0);
    assert.match(enough.stdout, stopped);
    const early = await cli(["evidence", id, "--since", commitAt(30)]);
    assert.equal(early.code, 3);
    assert.match(early.stdout, stopped);
  });

  it("says of a test that came later that it was added", async () => {
    const { stdout } = await cli(["evidence", idOf(shop, { name: "b" }), "--since", commitAt(101)]);
    assert.match(
      stdout,
      /passed in all 20 runs on main since it was added \(20 runs since 21 Sep\)/,
    );
    const { stdout: first } = await cli(["evidence", id, "--since", commitAt(21)]);
    assert.match(first, /for as long as it is stored/);
  });
}, { onStatement: recorder.onStatement });
