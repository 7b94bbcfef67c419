/** `ingest.ts`, of an archive. */
import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { describeWithDatabase } from "../../../database.ts";
import { archiveOf, reportOf } from "../../report/archive/make_archive.ts";
import { commandLine, NOON } from "../run_in_process.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const TREE = "76543210fedcba9876543210fedcba9876543210";
const FLAT = `:commit: ${SHA}
:branch: ''
:build_url: https://ci.example/first
:build_url: https://ci.example/1
:repo_name_with_owner: acme/shop
:timestamp: ${NOON - 100}123456789
:tags:
- ''
:secret_token: s3cr3t
`;
const LCOV = "TN:\nSF:a.ts\nDA:1,1\nDA:2,0\nend_of_record\n";

describeWithDatabase("ingest of an archive", (database) => {
  let folder: string;
  const run = commandLine(database);

  before(async () => {
    folder = await Deno.makeTempDir();
    await run("org create acme");
  });
  after(() => Deno.remove(folder, { recursive: true }));

  async function archive(name: string, entries: [string, string][]): Promise<string> {
    const path = join(folder, name);
    await Deno.writeFile(path, await archiveOf(entries));
    return path;
  }

  async function submissions(repository = "acme/shop") {
    const [row] = await database().sql<{ submissions: Record<string, unknown>[] }[]>`
      select coalesce(json_agg(to_json(s) order by uploaded_at), '[]') as submissions
      from submission s join repository r using (repository_id)
      where r.owner || '/' || r.name = ${repository}`;
    return row!.submissions;
  }

  it("needs nothing but the organization, and is one submission however often", async () => {
    const path = await archive("flat.gz", [
      ["test_results//ci/a.xml", reportOf("a", "web/a.ts")],
      ["test_results//ci/a.xml", reportOf("a", "web/a.ts")],
      ["coverage/junit.xml", reportOf("never")],
      ["coverage/lcov.info", LCOV],
      ["coverage/empty", ""],
      ["CODEOWNERS", "/web/ @acme/web\n"],
      ["buildpulse.log", "s3cr3t"],
      ["buildpulse.yml", FLAT],
    ]);
    const first = await run(["ingest", path, "--org", "acme", "--json"]);
    assert.equal(first.code, 0, first.stderr);
    const outcome = JSON.parse(first.stdout);
    assert.match(outcome.key, /^acme\/shop\/[0-9a-f]{24}$/);
    assert.deepEqual({ ...outcome, key: "" }, {
      key: "",
      repository: "acme/shop",
      commit_oid: SHA,
      build_url: "https://ci.example/1",
      recorded_at: "2026-02-01T11:58:20Z",
      status: "processed",
      test_result_count: 1,
      disruption_count: 0,
      duplicate: false,
      coverage: { covered_line_count: 1, line_count: 2 },
    });
    const again = await run(["ingest", path, "--org", "acme", "--json"]);
    assert.deepEqual(JSON.parse(again.stdout), { ...outcome, duplicate: true });
    assert.equal((await submissions()).length, 1);

    const [test] = await database().sql<{ tags: string[] }[]>`
      select array_to_json(array(
        select tag from test_tag g
        where g.repository_id = test.repository_id and g.tests @> test_no order by tag)) as tags from test where name = 'a'`;
    assert.deepEqual(test?.tags, ["owner:@acme/web"]);
    const [coverage] = await database().sql`select covered_line_count::int, line_count::int
      from coverage_report`;
    assert.deepEqual({ ...coverage }, { covered_line_count: 1, line_count: 2 });
    for (const ending of [first, again]) {
      assert.doesNotMatch(ending.stdout + ending.stderr, /s3cr3t/);
    }
    assert.match(first.stderr, /flat\.gz: coverage\/junit\.xml.*skipped/);
  });

  it("is one submission for the same bytes without a build URL too", async () => {
    const entries: [string, string][] = [
      [
        "buildpulse.yml",
        `version: "1.0"\ngit:\n  commit: ${SHA}\n  tree: ${TREE}\n  branch: main\n` +
        `  repository:\n    owner: acme\n    name: nested\nci:\n  provider: x\n  build_url: ''\ntags: [x, y]\n`,
      ],
      ["test-results/a.xml", reportOf("a")],
    ];
    const one = await run(["ingest", await archive("one.gz", entries), "--org", "acme"]);
    const two = await run(["ingest", await archive("two.tgz", entries), "--org", "acme"]);
    assert.equal(one.code, 0, one.stderr);
    assert.equal(two.stdout, one.stdout);
    assert.match(two.stderr, /already uploaded: nothing changed/);
    const [row] = await submissions("acme/nested");
    assert.equal(row?.tree_oid, TREE);
    assert.equal(row?.branch, "main");
    assert.deepEqual(row?.tags, ["x", "y"]);
    assert.equal(row?.recorded_at, "2026-02-01T12:00:00+00:00");
  });

  it("ignores a tree that is not an object id, with a note, and refuses it as an option", async () => {
    const path = await archive("tree.gz", [
      [
        "buildpulse.yml",
        `version: "1.0"\ngit:\n  commit: ${SHA}\n  tree: "null"\n  repository:\n    owner: acme\n` +
        "    name: notree\n",
      ],
      ["test-results/a.xml", reportOf("a")],
    ]);
    const { code, stderr } = await run(["ingest", path, "--org", "acme"]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /ignored the tree "null": expected 7 to 64 hex digits/);
    const [row] = await submissions("acme/notree");
    assert.equal(row?.tree_oid, null);
    const option = await run(["ingest", path, "--org", "acme", "--tree", "HEAD"]);
    assert.equal(option.code, 2);
    assert.match(option.stderr, /--tree: invalid tree "HEAD": expected 7 to 64 hex digits/);
  });

  it("ignores a build URL that is not a web address, with a note, and refuses it as an option", async () => {
    const urls = [
      "javascript:alert(1)",
      "ftp://ada:s3cr3t@ci/7",
      `https://ci/${"x".repeat(2_000)}`,
    ];
    for (const [no, url] of urls.entries()) {
      const path = await archive("url.gz", [
        [
          "buildpulse.yml",
          `:commit: ${SHA}\n:repo_name_with_owner: acme/no-url-${no}\n:build_url: "${url}"\n`,
        ],
        ["test_results/a.xml", reportOf("a")],
      ]);
      const { code, stderr } = await run(["ingest", path, "--org", "acme"]);
      assert.equal(code, 0, stderr);
      assert.match(stderr, /^.*url\.gz: ignored the build URL: .*expected/m);
      assert.doesNotMatch(stderr, /s3cr3t/);
      const [row] = await submissions(`acme/no-url-${no}`);
      assert.equal(row?.build_url, "");
      const option = await run(["ingest", path, "--org", "acme", "--build-url", url]);
      assert.equal(option.code, 2);
      assert.match(option.stderr, /--build-url: .*expected/);
    }
  });

  it("is overridden by options, and never by the CI job it happens to be in", async () => {
    const path = await archive("override.gz", [
      ["buildpulse.yml", FLAT],
      ["test_results/a.xml", reportOf("a")],
    ]);
    const environment = {
      GITLAB_CI: "true",
      CI_PROJECT_PATH: "x/y",
      CI_COMMIT_SHA: "f".repeat(40),
    };
    const argv = ["ingest", path, "--org", "acme", "--repo", "acme/other", "--tree", TREE];
    argv.push("--tags", "slow", "--recorded-at", "2026-01-31T00:00:00Z");
    const { code, stderr } = await run(argv, { environment });
    assert.equal(code, 0, stderr);
    const [row] = await submissions("acme/other");
    assert.equal(row?.commit_oid, SHA);
    assert.equal(row?.tree_oid, TREE);
    assert.deepEqual(row?.tags, ["slow"]);
    assert.equal(row?.recorded_at, "2026-01-31T00:00:00+00:00");
  });

  it("is refused with more tags than an upload may have", async () => {
    const path = await archive("many.gz", [["test_results/a.xml", reportOf("a")]]);
    const tags = Array.from({ length: 101 }, (_, index) => `t${index}`).join(",");
    const { code, stderr } = await run(["ingest", path, "--org", "acme", "--tags", tags]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /101 tags: expected at most 100/);
  });

  it("may bring coverage alone, and then makes no submission", async () => {
    const path = await archive("coverage.gz", [
      ["buildpulse.yml", FLAT.replace("acme/shop", "acme/covered")],
      ["coverage/lcov.info", LCOV],
    ]);
    const { code, stdout } = await run(["ingest", path, "--org", "acme"]);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: "" });
    assert.equal((await submissions("acme/covered")).length, 0);
  });

  const refused: [string, [string, string][], RegExp][] = [
    [
      "without metadata",
      [["test_results/a.xml", reportOf("a")]],
      /buildpulse\.yml: found no such file/,
    ],
    ["without a commit", [
      ["buildpulse.yml", FLAT.replace(/:commit:.*/, "")],
      ["test_results/a.xml", reportOf("a")],
    ], /found no :commit \(or git\.commit\), expected one, or the option --commit/],
    ["from the future", [
      ["buildpulse.yml", FLAT.replace(/:timestamp: \d+/, `:timestamp: ${NOON + 90_000}000000000`)],
      ["test_results/a.xml", reportOf("a")],
    ], /:timestamp \(or timestamp\): "20.*Z": expected a time at most 24 hours ahead of now/],
    [
      "without anything in it",
      [["buildpulse.yml", FLAT]],
      /found neither a report .* nor coverage/,
    ],
  ];
  for (const [name, entries, message] of refused) {
    it(`refuses one ${name}, all of it`, async () => {
      const path = await archive(`${name}.gz`, entries);
      const { code, stderr, stdout } = await run(["ingest", path, "--org", "acme"]);
      assert.equal(code, 1, stdout);
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /s3cr3t/);
    });
  }

  it("leaves out a report that is cut off, and keeps the note", async () => {
    const path = await archive("crashed.gz", [
      ["buildpulse.yml", FLAT.replace("acme/shop", "acme/crashed")],
      ["test_results/a.xml", reportOf("a")],
      ["test_results/b.xml", "<testsuite><testcase name='x'>"],
    ]);
    const { code, stderr } = await run(["ingest", path, "--org", "acme"]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /crashed\.gz: test_results\/b\.xml:1:\d+: found the end .*: left out/);
    const { stdout } = await run(
      "submission list --org acme --repo acme/crashed --json".split(" "),
    );
    const [{ test_result_count: count, notes }] = JSON.parse(stdout);
    assert.equal(count, 1);
    assert.ok(notes.some((note: string) => /^b\.xml:1:\d+: found the end .*left out$/.test(note)));
  });

  it("keeps a commit that is not an id as text, and splits tags, each with a note", async () => {
    const metadata = FLAT.replace(/:commit:.*/, ":commit: HEAD")
      .replace("''\n:secret", "'a b'\n:secret").replace("acme/shop", "acme/symbolic");
    const path = await archive("symbolic.gz", [
      ["buildpulse.yml", metadata],
      ["test_results/a.xml", reportOf("a")],
    ]);
    const { code, stdout, stderr } = await run(["ingest", path, "--org", "acme", "--json"]);
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).commit_oid, "HEAD");
    assert.match(stderr, /the commit "HEAD"/);
    assert.match(stderr, /split tags at white space/);
  });

  const written: [service: string, lines: string, repository: string, url: string | null][] = [
    [
      "Azure Repos",
      ":repo_name_with_owner: https://dev.azure.com/acme//az2\n" +
      ":build_repository_uri: https://dev.azure.com/acme/Web/_git/az2",
      "acme/az2",
      "https://dev.azure.com/acme/Web/_git/az2",
    ],
    [
      "Azure Repos at its former address",
      ":repo_name_with_owner: https://acme.visualstudio.com//az3",
      "acme/az3",
      null,
    ],
    [
      "CodeBuild",
      ":ci_provider: aws-codebuild\n:repo_name_with_owner: project/4f2a\n" +
      ":codebuild_source_repo_url: https://github.com/acme/built.git",
      "acme/built",
      "https://github.com/acme/built",
    ],
    [
      "GitHub",
      ":repo_name_with_owner: acme/hub\n:github_repo_url: https://github.com/acme/hub",
      "acme/hub",
      "https://github.com/acme/hub",
    ],
    [
      "CircleCI",
      ":repo_name_with_owner: acme/circle\n:circle_repository_url: git@github.com:acme/circle.git",
      "acme/circle",
      "https://github.com/acme/circle",
    ],
  ];
  for (const [service, lines, repository, url] of written) {
    it(`finds the repository and its page in what the reporter writes on ${service}`, async () => {
      const path = await archive(`${service}.gz`, [
        ["buildpulse.yml", `:commit: ${"1".repeat(40)}\n:branch: main\n${lines}\n`],
        ["test_results/../ws2/a/r.xml", reportOf(service)],
      ]);
      const { code, stdout, stderr } = await run(["ingest", path, "--org", "acme", "--json"]);
      assert.equal(code, 0, stderr);
      const outcome = JSON.parse(stdout);
      assert.deepEqual([outcome.repository, outcome.test_result_count], [repository, 1]);
      const [row] = await database().sql<{ url: string }[]>`
        select url from repository where owner || '/' || name = ${repository}`;
      assert.equal(row?.url || null, url);
    });
  }

  it("has the branch without the remote that Jenkins names", async () => {
    const path = await archive("jenkins.gz", [
      [
        "buildpulse.yml",
        `:commit: ${"2".repeat(40)}\n:ci_provider: jenkins\n:branch: origin/main\n` +
        ":repo_name_with_owner: acme/jenkins\n",
      ],
      ["test_results/a.xml", reportOf("a")],
    ]);
    assert.equal((await run(["ingest", path, "--org", "acme"])).code, 0);
    assert.deepEqual((await submissions("acme/jenkins")).map(({ branch }) => branch), ["main"]);
  });

  it("drops tags that are too long or too many, with a note", async () => {
    const tags = [...Array.from({ length: 102 }, (_, index) => `t${index}`), "x".repeat(201)];
    const path = await archive("many tags.gz", [
      [
        "buildpulse.yml",
        `:commit: ${"3".repeat(40)}\n:repo_name_with_owner: acme/tags\n:tags:\n` +
        tags.map((tag) => `- ${tag}\n`).join(""),
      ],
      ["test_results/a.xml", reportOf("a")],
    ]);
    const { code, stderr } = await run(["ingest", path, "--org", "acme"]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /dropped tags of more than 200 characters/);
    assert.match(stderr, /dropped 2 tags: expected at most 100/);
    assert.deepEqual((await submissions("acme/tags")).map((row) => (row.tags as string[]).length), [
      100,
    ]);
  });

  it("is the same code version whatever the case of its commit and tree", async () => {
    const upload = async (name: string, lines: string, ...options: string[]) => {
      const path = await archive(`${name}.gz`, [
        ["buildpulse.yml", `${FLAT}:repo_name_with_owner: acme/case\n${lines}`],
        ["test_results/a.xml", reportOf(name)],
      ]);
      const { code, stdout, stderr } = await run(
        ["ingest", path, "--org", "acme", "--json", ...options],
      );
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout).commit_oid;
    };
    const [upperSha, upperTree] = [SHA.toUpperCase(), TREE.toUpperCase()];
    assert.deepEqual(
      [
        await upload("lower", ""),
        await upload("upper", `:commit: ${upperSha}\n`),
        await upload("option", "", "--commit", upperSha),
        await upload("lower tree", `:tree: ${TREE}\n`),
        await upload("upper tree", `:tree: ${upperTree}\n`),
        await upload("tree option", "", "--tree", upperTree),
      ],
      Array(6).fill(SHA),
    );
    assert.deepEqual(
      (await submissions("acme/case")).map((submission) => submission.code_version).sort(),
      [...Array(3).fill(`commit:${SHA}`), ...Array(3).fill(`tree:${TREE}`)],
    );
  });

  it("refuses an archive together with reports", async () => {
    const { code, stderr } = await run(["ingest", "a.gz", "b.xml", "--org", "acme"]);
    assert.equal(code, 2);
    assert.match(stderr, /expected either one archive/);
  });

  it("names an archive that is not there", async () => {
    const { code, stderr } = await run(["ingest", "/none/a.gz", "--org", "acme"]);
    assert.equal(code, 1);
    assert.match(stderr, /^error: \/none\/a\.gz: could not be read \(ENOENT\)/);
  });
});
