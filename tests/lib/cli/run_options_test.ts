/** The facts of a run, from options, the CI job and the checkout, through `ingest`. */
import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { describeWithDatabase } from "../../database.ts";
import { reportOf } from "../report/archive/make_archive.ts";
import { commandLine } from "./run_in_process.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const TREE = "76543210fedcba9876543210fedcba9876543210";

describeWithDatabase("ingest in a CI job", (database) => {
  let folder: string;
  const run = commandLine(database);
  const git = (root: string) => (args: string[]) =>
    Promise.resolve(
      { "--show-toplevel": root, HEAD: SHA, [`${SHA}^{tree}`]: TREE }[args.at(-1)!] ?? "",
    );
  const environment = {
    GITHUB_ACTIONS: "true",
    GITHUB_REPOSITORY: "acme/shop",
    GITHUB_SHA: SHA,
    GITHUB_REF: "refs/heads/main",
    GITHUB_RUN_ID: "7",
  };

  before(async () => {
    folder = await Deno.makeTempDir();
    await Deno.mkdir(join(folder, ".github"));
    await Deno.writeTextFile(join(folder, ".github", "CODEOWNERS"), "/web/ @acme/web\n");
    await Deno.writeTextFile(join(folder, "a.xml"), reportOf("a", `${folder}/web/a.ts`));
    await run("org create acme");
  });
  after(() => Deno.remove(folder, { recursive: true }));
  const ingest = (more: string[], io = {}) =>
    run(["ingest", "--org", "acme", join(folder, "a.xml"), ...more], {
      environment,
      git: git(folder),
      ...io,
    });

  it("needs the organization and the reports", async () => {
    const { code, stderr, stdout } = await ingest(["--json"]);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, "");
    const outcome = JSON.parse(stdout);
    assert.equal(outcome.repository, "acme/shop");
    assert.equal(outcome.commit_oid, SHA);
    assert.equal(outcome.build_url, "https://github.com/acme/shop/actions/runs/7");
    const [row] = await database().sql`select tree_oid, branch from submission`;
    assert.deepEqual({ ...row }, { tree_oid: TREE, branch: "main" });
    const [test] = await database().sql<{ tags: string[]; file: string }[]>`
      select array_to_json(array(
        select tag from test_tag g
        where g.repository_id = test.repository_id and g.tests @> test_no order by tag)) as tags, file from test`;
    assert.deepEqual(test?.tags, ["owner:@acme/web"]);
    assert.equal(test?.file, "web/a.ts");
  });

  it("lets options win, empty ones excepted", async () => {
    const argv = ["--repo", "acme/b", "--branch", "x", "--tree", "", "--build-url", "", "--json"];
    const { code, stdout } = await ingest(argv);
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).build_url, "https://github.com/acme/shop/actions/runs/7");
    const [row] = await database().sql`
      select tree_oid, branch from submission join repository using (repository_id)
      where name = 'b'`;
    assert.deepEqual({ ...row }, { tree_oid: TREE, branch: "x" });
  });

  it("takes the branch of the job if the option names none", async () => {
    const argv = ["--repo", "acme/head", "--branch", "HEAD"];
    const { code, stderr } = await ingest(argv);
    assert.equal(code, 0);
    assert.match(
      stderr,
      /^ignored the branch: HEAD, null and the ref of a tag or a pull request name none$/m,
    );
    const [row] = await database().sql`
      select branch from submission join repository using (repository_id) where name = 'head'`;
    assert.equal(row!.branch, "main");
  });

  it("takes the branch of a remote for the branch, with a note", async () => {
    const argv = ["--repo", "acme/remote", "--branch", "origin/fix"];
    const { code, stderr } = await ingest(argv);
    assert.equal(code, 0);
    assert.match(
      stderr,
      /^branch "origin\/fix": stored as "fix", without the name of the remote$/m,
    );
    const [row] = await database().sql`
      select branch from submission join repository using (repository_id) where name = 'remote'`;
    assert.equal(row!.branch, "fix");
  });

  it("names the facts that the job lacks", async () => {
    const { GITHUB_SHA: _, GITHUB_REPOSITORY: __, ...others } = environment;
    const nothing = { environment: others, git: () => Promise.resolve("") };
    const { code, stderr } = await ingest([], nothing);
    assert.equal(code, 2);
    assert.match(stderr, /missing --repo OWNER\/NAME, --commit OID: found neither in/);
  });

  it("says when the tree or the address of the run is not known", async () => {
    const { GITHUB_RUN_ID: _, ...others } = environment;
    const argv = ["--repo", "acme/c"];
    const { code, stderr } = await ingest(argv, {
      environment: others,
      git: () => Promise.resolve(""),
    });
    assert.equal(code, 0);
    assert.match(stderr, /unknown tree of commit 0123/);
    assert.match(stderr, /this GitHub Actions job has no build URL/);
  });

  it("asks git for the tree alone outside of CI when repository and commit are given", async () => {
    const argv = ["--repo", "acme/d", "--commit", SHA];
    const asked: string[] = [];
    const git = (args: string[]) => {
      asked.push(args.join(" "));
      return Promise.resolve("");
    };
    assert.equal((await ingest(argv, { environment: {}, git })).code, 0);
    assert.deepEqual(asked, [`rev-parse --verify --quiet ${SHA}^{tree}`]);
    const { code: wrong, stderr } = await ingest([], { environment: {}, git });
    assert.equal(wrong, 2);
    assert.match(stderr, /missing --repo OWNER\/NAME, --commit OID: found neither in/);
  });

  it("resolves a commit that is not an id in the checkout, or refuses it", async () => {
    const git = (args: string[]) => Promise.resolve(args.includes("main^{commit}") ? SHA : "");
    const of = (commit: string) =>
      ingest(["--repo", "acme/f", "--json", "--commit", commit], { environment: {}, git });
    assert.equal(JSON.parse((await of("main")).stdout).commit_oid, SHA);
    assert.equal((await of("")).code, 2);
    for (const commit of ["HEAD", "null", "abc", "-h1"]) {
      const { code, stderr } = await of(commit);
      assert.equal(code, 2, commit);
      assert.match(stderr, new RegExp(`^error: --commit: unknown commit "${commit}": expected`));
    }
  });

  it("takes the CODEOWNERS file that is given", async () => {
    const path = join(folder, "owners");
    await Deno.writeTextFile(path, "* @acme/given\n");
    const argv = ["--repo", "acme/e", "--commit", SHA, "--codeowners", path];
    assert.equal((await ingest(argv, { environment: {} })).code, 0);
    const [test] = await database().sql<{ tags: string[] }[]>`
      select array_to_json(array(
        select tag from test_tag g
        where g.repository_id = test.repository_id and g.tests @> test_no order by tag)) as tags from test join repository using (repository_id)
      where repository.name = 'e'`;
    assert.deepEqual(test?.tags, ["owner:@acme/given"]);
    const missing = await ingest(["--repo", "a/b", "--commit", SHA, "--codeowners", "/none"]);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /file "\/none" not found: check --codeowners/);
  });
});
