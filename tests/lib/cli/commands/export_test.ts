import assert from "node:assert/strict";
import process from "node:process";
import { after, before, describe, it } from "@std/testing/bdd";
import { listTokens } from "../../../../db/admin/tokens.ts";
import { WINDOW_SECONDS } from "../../../../lib/base/time.ts";
import { createApp } from "../../../../routes/mod.ts";
import { type Answers, everyAnswer } from "../../../answers.ts";
import { openTestEmbedded, openTestServer, type TestDatabase } from "../../../database.ts";
import { createFullOrganization } from "../../../full_organization.ts";
import { createFixture, type Fixture, NOW, request } from "../../../routes/fixture.ts";
import { silentLog } from "../../../silent_log.ts";
import { commandLine, type Ending } from "../run_in_process.ts";

const SERVER = process.env.TEST_DATABASE_URL ?? "";
const NAME = "Acme & Söhne";

/** Runs commands on a database, with the given standard input. */
function commandsOn(database: TestDatabase) {
  const run = commandLine(() => database, { now: () => NOW });
  return (argv: string[], input = ""): Promise<Ending> =>
    run(argv, { stdin: new Blob([input]).stream() });
}

/** What the API says, with a token of the organization. */
function answersOf({ sql }: TestDatabase, token: string): Promise<Answers> {
  const app = createApp({ sql, now: () => NOW, windowSeconds: WINDOW_SECONDS, log: silentLog });
  return everyAnswer((path) => app(request(path, { authorization: `token ${token}` })));
}

/** Each database gives and takes once. */
const MOVES = SERVER === ""
  ? [["embedded", "embedded"]] as const
  : [["embedded", "server"], ["server", "embedded"]] as const;

function open(kind: string): Promise<TestDatabase> {
  return kind === "embedded" ? openTestEmbedded() : openTestServer(SERVER);
}

for (const [from, to] of MOVES) {
  describe(`an export from ${from} to ${to}`, () => {
    let source: TestDatabase;
    let target: TestDatabase;
    let fixture: Fixture;
    let text = "";

    before(async () => {
      source = await open(from);
      target = await open(to);
      await createFixture(source, { name: "other" });
      fixture = await createFullOrganization(source);
      const { code, stdout, stderr } = await commandsOn(source)(["export", "--org", NAME]);
      assert.equal(code, 0, stderr);
      text = stdout;
    });
    after(async () => {
      await source.close();
      await target.close();
    });

    it("gives the same answers in another database", async () => {
      const { code, stdout, stderr } = await commandsOn(target)(["import"], text);
      assert.equal(code, 0, stderr);
      assert.equal(stdout, `${NAME}\n`);
      const [before, after] = await Promise.all([
        answersOf(source, fixture.token),
        answersOf(target, fixture.token),
      ]);
      assert.deepEqual(after, before);
    });

    it("gives the same export again", async () => {
      const again = (await commandsOn(target)(["export", "--org", NAME])).stdout;
      // The import is one more change in the log.
      const lines = (text: string) =>
        text.trim().split("\n").filter((line) =>
          !line.includes('"type":"end"') && !line.includes('"command":"import"')
        );
      assert.deepEqual(lines(again), lines(text));
    });

    it("keeps tokens, policies, and the logs", async () => {
      for (
        const argv of [
          ["token", "list"],
          ["quarantine", "log"],
          ["quarantine", "list"],
          ["quarantine", "policy", "show"],
          ["repo", "list"],
          ["org", "list"],
        ]
      ) {
        const [before, after] = await Promise.all(
          [source, target].map((database) =>
            commandsOn(database)([...argv, "--json", ...argv[0] === "org" ? [] : ["--org", NAME]])
          ),
        );
        const plain = ({ stdout }: Ending) =>
          JSON.parse(stdout).filter(({ name }: { name?: string }) => name !== "other")
            .map((row: object) => ({ ...row, api_token_id: 0 }));
        assert.deepEqual(plain(after!), plain(before!), argv.join(" "));
      }
      const { organizationId } = fixture.organization;
      assert.equal((await listTokens(target.sql, organizationId)).length, 8);
    });
  });
}
