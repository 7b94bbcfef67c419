import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { COMMANDS } from "../../../lib/cli/commands/mod.ts";
import { SETTINGS } from "../../../lib/base/config.ts";
import { VERSION } from "../../../lib/base/version.ts";
import { COMMIT } from "../../../lib/system/build.ts";
import { leafCommands } from "../../usage_lines.ts";
import { commandLine, withoutDatabase } from "./run_in_process.ts";

const ID = "0123456789abcdef01234567";

const paths = leafCommands().map(({ path }) => path);

describe("the command line", () => {
  it("has the commands that were promised", () => {
    assert.deepEqual(paths.toSorted(), [
      "backup",
      "comment",
      "completion",
      "demo",
      "digest",
      "doctor",
      "evidence",
      "export",
      "flaky",
      "gate",
      "healthcheck",
      "import",
      "ingest",
      "mcp",
      "migrate",
      "org create",
      "org list",
      "org log",
      "org set",
      "prune",
      "quarantine add",
      "quarantine apply",
      "quarantine list",
      "quarantine log",
      "quarantine policy off",
      "quarantine policy set",
      "quarantine policy show",
      "quarantine remove",
      "receive",
      "repo create",
      "repo delete",
      "repo list",
      "repo rename",
      "repo set",
      "serve",
      "slow",
      "split",
      "submission delete",
      "submission list",
      "token create",
      "token import",
      "token list",
      "token revoke",
      "trust add",
      "trust list",
      "trust remove",
      "up",
      "upload",
      "watch",
      "webhook add",
      "webhook list",
      "webhook log",
      "webhook remove",
      "webhook resend",
      "webhook test",
    ]);
  });

  /** Lines that a terminal of 80 columns breaks. */
  const tooWide = (help: string) =>
    help.replaceAll("deno task cli", "test-analytics").split("\n")
      .filter((line) => line.length > 80 && !/[0-9a-f]{64}/.test(line));

  for (const [name, load] of Object.entries(COMMANDS)) {
    it(`loads "${name}" alone`, async () => {
      assert.equal(typeof await load(), "function");
      const { stdout } = await withoutDatabase([name, "--help"]);
      assert.ok(stdout.startsWith(`Usage: deno task cli ${name} `), stdout);
      assert.deepEqual(tooWide(stdout), []);
    });
  }

  it("explains every command on standard output, whatever else is missing", async () => {
    for (const path of paths) {
      const { code, stdout, stderr } = await withoutDatabase([...path.split(" "), "--help"]);
      assert.equal(code, 0, path);
      assert.ok(stdout.startsWith(`Usage: deno task cli ${path} `), stdout);
      assert.match(stdout, /--json/);
      assert.match(stdout, /Example:\n {2}deno task cli /);
      assert.equal(stderr, "");
      assert.deepEqual(tooWide(stdout), [], path);
    }
  });

  it("has no help about the earlier service, except for commands that belong to it", async () => {
    const own = ["org set", "token import"];
    for (const path of ["", "org", "token", ...leafCommands().map(({ path }) => path)]) {
      const { stdout } = await withoutDatabase([...path.split(" ").filter(Boolean), "--help"]);
      if (own.includes(path)) assert.match(stdout, /purchase|earlier/);
      else assert.doesNotMatch(stdout, /purchase|earlier (service|format)|legacy/, path);
    }
  });

  it("names every environment variable in its help", async () => {
    const { stdout } = await withoutDatabase("--help");
    for (const { name } of SETTINGS) assert.ok(stdout.includes(name), name);
    assert.deepEqual(stdout.split("\n").filter((line) => line.length > 80), []);
  });

  it("prints its version, with the commit where it is known", async () => {
    const { code, stdout } = await withoutDatabase("--version");
    const commit = COMMIT === "" ? "" : ` (${COMMIT.slice(0, 12)})`;
    assert.deepEqual({ code, stdout }, { code: 0, stdout: `${VERSION}${commit}\n` });
  });

  it("shows only valid examples", async () => {
    const opened = commandLine(() => {
      throw new Error("the database was opened");
    });
    for (const path of paths) {
      const { stdout } = await withoutDatabase([...path.split(" "), "--help"]);
      const example = /Example:\n {2}deno task cli (.+)/.exec(stdout)?.[1] ?? "";
      assert.ok(example.startsWith(path), example);
      // They open no database, or one by themselves, or look at their folder or bucket first.
      const others = [
        "backup",
        "comment",
        "completion",
        "demo",
        "doctor",
        "evidence",
        "gate",
        "healthcheck",
        "import",
        "mcp",
        "migrate",
        "split",
        "upload",
        "watch",
      ];
      if (others.includes(path)) continue;
      const { code, stderr } = await opened(example);
      assert.equal(code, 1, example);
      assert.match(stderr, /^error: the database was opened\n$/m);
    }
  });
});

describe("usage errors", () => {
  const wrong: [string, string[], RegExp][] = [
    ["an unknown option, before missing ones", ["repo", "list", "--bogus"], /unknown option/],
    ["an empty required option", ["repo", "list", "--org", ""], /--org: "" is empty/],
    ["prune of an unset organization", "prune --keep 90d --org".split(" ").concat(""), /--org: ""/],
    ["no command", [], /expected a command/],
    ["a group alone", ["org"], /expected a command/],
    ["an unknown command", ["orgs"], /unknown command 'orgs'/],
    ["an unknown command of a group", ["org", "drop"], /unknown command 'drop'/],
    ["an unknown option", ["org", "list", "--jsn"], /unknown option '--jsn'.*--json/],
    ["a missing argument", ["org", "create"], /missing required argument 'name'/],
    ["a missing option", ["upload", "a.xml"], /required option '--to <target>'/],
    ["a missing value", ["repo", "list", "--org"], /'--org <name>' argument missing/],
    ["too many arguments", ["org", "list", "acme"], /too many arguments/],
    ["an empty name", ["org", "create", ""], /NAME: "" is empty/],
    [
      "blanks around a name",
      ["org", "create", " acme"],
      /NAME: " acme" has surrounding white space/,
    ],
    [
      "negative units",
      ["org", "set", "a", "--purchase-units=-1"],
      /--purchase-units: invalid number "-1"/,
    ],
    [
      "units that are not a number",
      ["org", "set", "a", "--purchase-units", "1e3"],
      /invalid number "1e3"/,
    ],
    [
      "a repository without owner",
      ["repo", "create", "shop", "--org", "a"],
      /invalid repository "shop"/,
    ],
    [
      "an empty part",
      ["repo", "create", "acme//shop", "--org", "a"],
      /invalid repository "acme\/\/shop"/,
    ],
    [
      "repository id 0",
      ["repo", "create", "a/b", "--org", "a", "--id", "0"],
      /--id: invalid number "0"/,
    ],
    ["deleting without --yes", ["repo", "delete", "a/b", "--org", "a"], /required option '--yes'/],
    [
      "deleting a submission without --yes",
      ["submission", "delete", "k", "--org", "a"],
      /required option '--yes'/,
    ],
    ["no zone", [
      ..."token create --org a --expires-at".split(" "),
      "2026-01-31T08:00:00",
    ], /--expires-at: invalid timestamp "2026-01-31T08:00:00"/],
    [
      "an impossible day",
      "token create --org a --expires-at 2026-02-30T08:00:00Z".split(" "),
      /expected a day and time that exist/,
    ],
    ["no unit", "token create --org a --expires-in 90".split(" "), /invalid duration "90"/],
    ["no time at all", "token create --org a --expires-in 0d".split(" "), /invalid duration "0d"/],
    [
      "an age of the world",
      "token create --org a --expires-in 999999999w".split(" "),
      /--expires-in: "999999999w" is too long: expected at most 36500d/,
    ],
    [
      "both expiries",
      "token create --org a --expires-in 1d --expires-at 2026-01-31T08:00:00Z".split(" "),
      /--expires-in and --expires-at: expected only one of them/,
    ],
    [
      "a short hash",
      "token import --org a --hash abc".split(" "),
      /--hash: invalid token hash of 3 characters/,
    ],
    ["a token id that is none", ["token", "revoke", "tk_1"], /TOKEN-ID: invalid number "tk_1"/],
    ["a short test id", ["quarantine", "add", "abc"], /TEST-ID: invalid test id "abc"/],
    ["an unknown type", ["quarantine", "add", ID, "--type", "x"], /--type: invalid value "x"/],
    ["a port above 65535", ["serve", "--port", "65536"], /--port: invalid number "65536"/],
    ["a port that is not a number", ["demo", "--port", "http"], /--port: invalid number "http"/],
    [
      "a folder and a server",
      "org list --data-dir x --database-url postgres://u@h/d".split(" "),
      /expected only one of them/,
    ],
    [
      "a URL of something else",
      ["org", "list", "--database-url", "mysql://u:swordfish@h/d"],
      /is not the URL of a PostgreSQL server/,
    ],
    [
      "a URL that is too long",
      ["org", "list", "--database-url", `postgres://u:swordfish@h/${"d".repeat(5_000)}`],
      /--database-url: 50\d\d characters: expected at most 4096/,
    ],
  ];
  for (const [name, argv, expected] of wrong) {
    it(`ends with 2 and a command that works: ${name}`, async () => {
      const { code, stdout, stderr } = await withoutDatabase(argv);
      assert.equal(code, 2, stderr);
      assert.equal(stdout, "");
      assert.match(stderr, expected);
      assert.match(stderr, /\nTry: deno task cli .+\n$/);
      assert.ok(!stderr.includes("swordfish"));
    });
  }

  it("reports all invalid values at once", async () => {
    const { stderr } = await withoutDatabase("repo create shop --org a --id x");
    assert.match(stderr, /REPOSITORY: invalid repository "shop".*; --id: invalid number "x"/);
  });

  it("refuses an invalid port in the environment, and prefers a flag", async () => {
    const environment = { PORT: "tcp://10.0.0.1:80" };
    const refused = await withoutDatabase("serve", { environment });
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /PORT: invalid number "tcp:\/\/10.0.0.1:80"/);
    const accepted = await withoutDatabase("serve --port 0", { environment });
    assert.equal(accepted.stderr, "error: the database was opened\n");
  });
});

describe("where the database is", () => {
  const locations: [string, string, Record<string, string>, unknown][] = [
    ["the embedded one by default", "org list", {}, { databaseUrl: undefined, dataDir: "./data" }],
    ["empty is as if unset", "org list", { DATABASE_URL: "", DATA_DIR: "" }, {
      databaseUrl: undefined,
      dataDir: "./data",
    }],
    ["the environment's server", "org list", { DATABASE_URL: "postgres://u@h/d", DATA_DIR: "x" }, {
      databaseUrl: "postgres://u@h/d",
      dataDir: "x",
    }],
    ["a flag wins", "org list --database-url postgres://u@h/e", {
      DATABASE_URL: "postgres://u@h/d",
    }, {
      databaseUrl: "postgres://u@h/e",
      dataDir: "./data",
    }],
    ["a folder wins over a server", "org list --data-dir y", { DATABASE_URL: "postgres://u@h/d" }, {
      databaseUrl: undefined,
      dataDir: "y",
    }],
  ];
  for (const [name, line, environment, expected] of locations) {
    it(name, async () => {
      let asked: unknown;
      await withoutDatabase(line, {
        environment,
        openDatabase: (location) => {
          asked = location;
          return Promise.reject(new Error("enough"));
        },
      });
      assert.deepEqual(asked, expected);
    });
  }
});

describe("the unexpected", () => {
  it("is one line, and a stack only for those who ask", async () => {
    const plain = await withoutDatabase("org list");
    assert.deepEqual(plain, { code: 1, stdout: "", stderr: "error: the database was opened\n" });
    const debug = await withoutDatabase("org list", { environment: { TEST_ANALYTICS_DEBUG: "1" } });
    assert.match(debug.stderr, /\n {4}at /);
  });

  it("is reported when standard output cannot be written", async () => {
    const stdout = () => Promise.reject(new Error("No space left on device"));
    const { code, stderr } = await withoutDatabase("--help", { stdout });
    assert.deepEqual({ code, stderr }, { code: 1, stderr: "error: No space left on device\n" });
  });
});
