import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { SETTINGS } from "../../../lib/base/config.ts";
import { readSecret } from "../../../lib/system/secret.ts";
import { readSettings, SETTING_SCHEMAS } from "../../../lib/cli/settings.ts";
import { leafCommands } from "../../usage_lines.ts";
import { withoutDatabase } from "./run_in_process.ts";

const NAMES = Object.keys(SETTING_SCHEMAS) as (keyof typeof SETTING_SCHEMAS)[];

describe("settings", () => {
  it("have defaults that are right", () => {
    const problems: string[] = [];
    const values = readSettings(NAMES, { environment: {}, flags: {}, problems });
    assert.deepEqual(problems, []);
    assert.equal(values.PORT, 8000);
    assert.equal(values.STATEMENT_TIMEOUT_MS, 10_000);
    assert.equal(values.LOG_FORMAT, "auto");
  });

  it("go by the flag, else by the environment, where empty is as if unset", () => {
    const environment = { LOG_LEVEL: "warn", PORT: "1", CACHE_SIZE_MB: "" };
    const problems: string[] = [];
    const values = readSettings(NAMES, { environment, flags: { port: "2" }, problems });
    assert.deepEqual([values.LOG_LEVEL, values.PORT, values.CACHE_SIZE_MB], ["warn", 2, 80]);
  });

  it("have an option each, in the commands that take them", () => {
    const options = leafCommands().flatMap(({ command }) =>
      command.options.map(({ flags }) => flags)
    );
    for (const setting of SETTINGS) {
      if (setting.flag !== undefined) assert.ok(options.includes(setting.flag), setting.flag);
    }
  });

  it("have a unit in their name where they have one", () => {
    for (const { name, meaning } of SETTINGS) {
      if (/how long|take longer/.test(meaning)) assert.match(name, /_(MS|SECONDS)$/);
      if (/memory/.test(meaning)) assert.match(name, /_MB$/);
    }
  });

  it("are reported all at once when invalid, with the option or variable that they came from", async () => {
    const { code, stderr } = await withoutDatabase(
      "serve --cache-size-mb x --database-url mysql://h",
      {
        environment: {
          PORT: "http",
          OPS_PORT: "-1",
          LOG_LEVEL: "loud",
          LOG_FORMAT: "xml",
          REQUEST_TIMEOUT_MS: "0",
          TIME_ZONE: "Mars/Olympus",
        },
      },
    );
    assert.equal(code, 2);
    for (
      const expected of [
        /TIME_ZONE: invalid time zone "Mars\/Olympus": expected a name of the IANA database/,
        /DATABASE_URL is not the URL of a PostgreSQL server/,
        /PORT: invalid number "http"/,
        /OPS_PORT: invalid number "-1": expected an integer from 0 to 65535/,
        /LOG_LEVEL: invalid value "loud": expected one of info, warn, error/,
        /LOG_FORMAT: invalid value "xml": expected one of auto, human, json/,
        /REQUEST_TIMEOUT_MS: invalid number "0": expected an integer from 1 to/,
        /--cache-size-mb: invalid number "x"/,
      ]
    ) assert.match(stderr, expected);
  });

  it("of the environment: the hint is not a command that they make fail", async () => {
    const hints = await Promise.all([
      withoutDatabase("serve", { environment: { LOG_LEVEL: "loud" } }),
      withoutDatabase("org list", { environment: { DATABASE_URL_FILE: "/nowhere/secret" } }),
      withoutDatabase("serve --port x"),
    ]);
    assert.deepEqual(hints.map(({ stderr }) => stderr.split("\n").at(-2)), [
      "Try: deno task cli serve --help",
      "Try: deno task cli org list --help",
      "Try: deno task cli serve --port 8000",
    ]);
  });

  it("of other commands are not checked", async () => {
    const { stderr } = await withoutDatabase("org list", { environment: { PORT: "http" } });
    assert.equal(stderr, "error: the database was opened\n");
  });
});

describe("a secret in a file", () => {
  async function withFile(text: string, use: (path: string) => void | Promise<void>) {
    const path = await Deno.makeTempFile();
    try {
      await Deno.writeTextFile(path, text);
      await use(path);
    } finally {
      await Deno.remove(path);
    }
  }

  it("is the content of the file without the line break", async () => {
    await withFile("postgres://u:p@h/d\n", (path) => {
      const environment = { DATABASE_URL: "", DATABASE_URL_FILE: path };
      assert.equal(readSecret(environment, "DATABASE_URL"), "postgres://u:p@h/d");
    });
  });

  it("is the database that a command opens", async () => {
    await withFile("postgres://u:p@h/d", async (path) => {
      let asked: unknown;
      await withoutDatabase("org list", {
        environment: { DATABASE_URL_FILE: path },
        openDatabase: (location) => {
          asked = location;
          return Promise.reject(new Error("enough"));
        },
      });
      assert.deepEqual(asked, { databaseUrl: "postgres://u:p@h/d", dataDir: "./data" });
    });
  });

  it("is refused when it is missing, empty, or there twice", async () => {
    const missing = await withoutDatabase("org list", {
      environment: { DATABASE_URL_FILE: "/nowhere/secret" },
    });
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /DATABASE_URL_FILE: "\/nowhere\/secret" cannot be read: /);
    await withFile(" \n", (path) => {
      assert.throws(
        () => readSecret({ PLATFORM_API_TOKEN_FILE: path }, "PLATFORM_API_TOKEN"),
        /PLATFORM_API_TOKEN_FILE: ".*" is empty/,
      );
    });
    assert.throws(
      () => readSecret({ DATABASE_URL: "a", DATABASE_URL_FILE: "b" }, "DATABASE_URL"),
      /DATABASE_URL and DATABASE_URL_FILE: expected only one of them/,
    );
  });
});
