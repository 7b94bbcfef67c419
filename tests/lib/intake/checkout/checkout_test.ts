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
  let results: string[];
  const cli = commandLine(database);

  const git: Git = async (args, env = {}) => {
    const { success, stdout } = await new Deno.Command("git", { args, cwd: folder, env }).output();
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
    results = [join(folder, "a.xml")];
    await Deno.writeTextFile(results[0]!, reportOf("a"));
  });
  after(() => Deno.remove(folder, { recursive: true }));

  it("has repository, commit, tree and branch, without credentials", async () => {
    assert.deepEqual(await describeCheckout(git, { results }), {
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
      return (await describeCheckout(git, { results, note: (text) => notes.push(text) })).tree;
    };
    const two = await changed("two");
    assert.notEqual(two, tree);
    assert.notEqual(await changed("three"), two);
    assert.equal(await changed("two"), two);
    assert.equal(
      notes[0],
      `the checkout has uncommitted changes (code.txt): tree ${two} includes them`,
    );
    assert.equal(await changed("one"), tree);
    assert.equal(notes.length, 3);
    assert.equal(await git(["stash", "list"]), "");
  });

  /** What the checkout says while a change is made, which is undone. */
  async function during(change: () => Promise<unknown>, undo: () => Promise<unknown>) {
    const notes: string[] = [];
    await change();
    try {
      const note = (text: string) => void notes.push(text);
      const again = await describeCheckout(git, { results });
      return { ...await describeCheckout(git, { results, note }), again: again.tree, notes };
    } finally {
      await undo();
    }
  }
  const write = (name: string, text = "") => Deno.writeTextFile(join(folder, name), text);
  const remove = (name: string) => Deno.remove(join(folder, name));

  it("has another tree with a change of the same size in the second of the commit", async () => {
    // Git keeps whole seconds; of files as young as its index it compares the content.
    const second = Math.floor(Date.now() / 1_000) - 10;
    const date = (name: string) => Deno.utime(join(folder, name), second, second);
    await git(["config", "core.trustctime", "false"]);
    const found = await during(async () => {
      await date("code.txt");
      await git(["add", "code.txt"]);
      await date(".git/index");
      await edit("two");
      await date("code.txt");
    }, () => edit("one"));
    await git(["config", "--unset", "core.trustctime"]);
    assert.notEqual(found.tree, tree);
  });

  it("leaves nothing in the folder of git, of a split index either", async () => {
    const names = Array.from({ length: 5 }, (_, no) => `code${no}.txt`);
    const files = () =>
      Array.from(Deno.readDirSync(join(folder, ".git")), ({ name }) => name).sort();
    await git(["config", "core.splitIndex", "true"]);
    await git(["update-index", "--split-index"]);
    const before = files();
    await during(
      () => Promise.all(names.map((name) => write(name, "new"))),
      () => Promise.all(names.map(remove)),
    );
    assert.deepEqual(files(), before);
    await git(["config", "--unset", "core.splitIndex"]);
    await git(["update-index", "--no-split-index"]);
  });

  it("has another tree with an untracked file, as it will be committed", async () => {
    let committed = "";
    const found = await during(() => write("conftest.py"), async () => {
      await git(["add", "conftest.py"]);
      committed = await git(["write-tree"]);
      await git(["reset", "--quiet"]);
      await remove("conftest.py");
    });
    assert.equal(found.tree, committed);
    assert.notEqual(found.tree, tree);
    assert.equal(found.again, found.tree);
    assert.match(found.notes[0]!, /^the checkout has uncommitted changes \(conftest.py\): tree /);
    assert.equal((await describeCheckout(git, { results })).tree, tree);
  });

  it("leaves out ignored files, and in CI untracked ones", async () => {
    const exclude = join(folder, ".git/info/exclude");
    const ignored = await during(async () => {
      await Deno.writeTextFile(exclude, "*.log\n");
      await write("test.log");
    }, () => remove("test.log"));
    assert.equal(ignored.tree, tree);
    await write("cache.bin");
    const environment = { CI: "true" };
    assert.equal((await describeCheckout(git, { environment, results })).tree, tree);
    await remove("cache.bin");
  });

  it("has another tree with files that are to be added, or assumed to be unchanged", async () => {
    const intended = await during(async () => {
      await write("new.py");
      await git(["add", "--intent-to-add", "new.py"]);
    }, async () => {
      await git(["reset", "--quiet"]);
      await remove("new.py");
    });
    assert.notEqual(intended.tree, tree);
    assert.equal(intended.again, intended.tree);
    const assumed = await during(async () => {
      await git(["update-index", "--assume-unchanged", "code.txt"]);
      await edit("two");
    }, async () => {
      await edit("one");
      await git(["update-index", "--no-assume-unchanged", "code.txt"]);
    });
    assert.notEqual(assumed.tree, tree);
    const locked = await during(async () => {
      await edit("two");
      await write(".git/index.lock");
    }, async () => {
      await remove(".git/index.lock");
      await edit("one");
    });
    assert.equal(locked.tree, assumed.tree);
  });

  it("has the tree of the files during a merge conflict", async () => {
    const author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    const commitAs = async (branch: string, text: string) => {
      await git(["checkout", "--quiet", "-b", branch, commit]);
      await edit(text);
      await git([...author, "commit", "--quiet", "--all", "--message", branch]);
    };
    await commitAs("theirs", "theirs");
    await commitAs("ours", "ours");
    const head = await git(["rev-parse", "HEAD^{tree}"]);
    const found = await during(
      () => git([...author, "merge", "theirs"]),
      () => git(["merge", "--abort"]),
    );
    assert.notEqual(found.tree, head);
    assert.equal(found.again, found.tree);
    await git(["checkout", "--quiet", "team/main"]);
  });

  it("is code of its own with changes in a submodule, and without git", async () => {
    const author = ["-c", "user.name=x", "-c", "user.email=x@example.org"];
    await git(["init", "--quiet", "sub"]);
    await write("sub/a.py", "one");
    await git(["-C", "sub", "add", "."]);
    await git(["-C", "sub", ...author, "commit", "--quiet", "--message", "sub"]);
    await git(["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    const dirty = await during(() => write("sub/a.py", "two"), () => write("sub/a.py", "one"));
    for (const known of [tree, dirty.again]) assert.notEqual(dirty.tree, known);
    assert.match(dirty.tree, /^[0-9a-f]{40}$/);
    assert.match(dirty.notes[0]!, /^git cannot tell what the checkout contains, .*--tree OID/);
    const moved = await during(async () => {
      await git(["-C", "sub", ...author, "commit", "--quiet", "--allow-empty", "--message", "b"]);
    }, () => git(["-C", "sub", "reset", "--quiet", "--hard", "HEAD^"]));
    assert.equal(moved.again, moved.tree);
    const failing: Git = (args, env) => args[0] === "status" ? Promise.resolve("") : git(args, env);
    const unknown = (await describeCheckout(failing, { results })).tree;
    for (const known of [tree, dirty.tree, ""]) assert.notEqual(unknown, known);
    await git(["reset", "--quiet"]);
    await Deno.remove(join(folder, "sub"), { recursive: true });
  });

  it("stores uncommitted changes at no branch that may be the base branch", async () => {
    await git(["checkout", "--quiet", "-b", "main"]);
    await edit("two");
    await write("b.xml", reportOf("changed"));
    const { code, stderr } = await cli(
      ["ingest", "--org", "acme", join(folder, "b.xml"), ...results],
      { git },
    );
    assert.equal(code, 0, stderr);
    assert.match(
      stderr,
      /uncommitted changes \(code.txt\): tree \w+ includes them; the run is not one of the branch main/,
    );
    const [row] = await database().sql`
      select tree_oid, branch from submission where tree_oid <> ${tree} order by submission_id desc limit 1`;
    assert.equal(row!.branch, null);
    await edit("one");
    await remove("b.xml");
    await git(["checkout", "--quiet", "team/main"]);
  });

  it("leaves the object database as it was", async () => {
    const count = () => git(["count-objects"]);
    const before = await count();
    await during(() => write("large.bin", "x"), () => remove("large.bin"));
    assert.equal(await count(), before);
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
