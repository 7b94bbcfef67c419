/** `describeCheckout` of `mod.ts`. */
import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { UNKNOWN_RUN } from "../../../../lib/ci/mod.ts";
import { describeCheckout } from "../../../../lib/intake/checkout/mod.ts";
import type { Git } from "../../../../lib/intake/checkout/git.ts";
import { describeWithDatabase } from "../../../database.ts";
import { reportOf } from "../../report/archive/make_archive.ts";
import { commandLine } from "../../cli/run_in_process.ts";

describeWithDatabase("a git checkout outside of CI", (database) => {
  let folder: string;
  let commit: string;
  let tree: string;
  const cli = commandLine(database);

  const git: Git = async (args) => {
    const { success, stdout } = await new Deno.Command("git", { args, cwd: folder }).output();
    return success ? new TextDecoder().decode(stdout).trim() : "";
  };
  const edit = (text: string) => Deno.writeTextFile(join(folder, "code.txt"), text);
  const ingest = (...more: string[]) =>
    cli(["ingest", "--org", "acme", join(folder, "a.xml"), ...more], { git });

  before(async () => {
    folder = await Deno.makeTempDir({ prefix: "test-analytics-checkout-" });
    await cli("org create acme");
    await git(["init", "--quiet", "--initial-branch", "team/main"]);
    await git(["remote", "add", "origin", "https://user:secret@git.example/acme/shop.git"]);
    await edit("one");
    await git(["add", "."]);
    const author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    await git([...author, "commit", "--quiet", "--message", "first"]);
    commit = await git(["rev-parse", "HEAD"]);
    tree = await git(["rev-parse", "HEAD^{tree}"]);
    await Deno.writeTextFile(join(folder, "a.xml"), reportOf("a"));
  });
  after(() => Deno.remove(folder, { recursive: true }));

  it("has repository, commit, tree and branch, without credentials", async () => {
    assert.deepEqual(await describeCheckout(git), {
      ...UNKNOWN_RUN,
      repository: "acme/shop",
      commit,
      tree,
      branch: "team/main",
      repositoryUrl: "https://git.example/acme/shop",
    });
  });

  it("describes the run of `ingest`", async () => {
    const { code, stdout, stderr } = await ingest("--json");
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).repository, "acme/shop");
    const [row] = await database().sql`select commit_oid, tree_oid, branch from submission`;
    assert.deepEqual({ ...row }, { commit_oid: commit, tree_oid: tree, branch: "team/main" });
  });

  it("gives branch and tree to no other commit than its own", async () => {
    await ingest("--commit", "abc0000");
    const rows = await database().sql`
      select tree_oid, branch from submission where commit_oid = 'abc0000'`;
    assert.deepEqual(rows.map((row) => ({ ...row })), [{ tree_oid: null, branch: null }]);
  });

  it("gives the tree to its commit, even if that is given or abbreviated", async () => {
    for (const [no, given] of [commit, commit.slice(0, 8), commit.toUpperCase()].entries()) {
      await Deno.writeTextFile(join(folder, "a.xml"), reportOf(`given ${no}`));
      const { code, stdout, stderr } = await ingest("--json", "--commit", given);
      assert.equal(code, 0, stderr);
      assert.equal(JSON.parse(stdout).commit_oid, commit);
    }
    const rows = await database().sql`
      select distinct tree_oid from submission where commit_oid = ${commit}`;
    assert.deepEqual(rows.map((row) => row.tree_oid), [tree]);
  });

  it("notes an abbreviated commit that it does not have", async () => {
    await Deno.writeTextFile(join(folder, "a.xml"), reportOf("abbreviated"));
    assert.match((await ingest("--commit", "abc0001")).stderr, /commit abc0001 is abbreviated and/);
  });

  it("has another tree with uncommitted changes, the same for the same changes", async () => {
    const notes: string[] = [];
    const changed = async (text: string) => {
      await edit(text);
      return (await describeCheckout(git, (note) => notes.push(note))).tree;
    };
    const two = await changed("two");
    assert.notEqual(two, tree);
    assert.notEqual(await changed("three"), two);
    assert.equal(await changed("two"), two);
    assert.equal(notes[0], `the checkout has uncommitted changes: tree ${two} includes them`);
    assert.equal(await changed("one"), tree);
    assert.equal(notes.length, 3);
    assert.equal(await git(["stash", "list"]), "");
  });

  it("leaves unknown facts empty", async () => {
    await git(["remote", "remove", "origin"]);
    await git(["checkout", "--quiet", "--detach"]);
    const { repository, branch, repositoryUrl } = await describeCheckout(git);
    assert.deepEqual([repository, branch, repositoryUrl], ["", "", ""]);
    const { code, stderr } = await ingest();
    assert.equal(code, 2);
    assert.match(stderr, /^error: missing --repo OWNER\/NAME: found neither in/);
  });
});
