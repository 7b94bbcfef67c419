/** Uploads with a broken file, through each door: report files, archives, a watched folder, HTTP. */
import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { describeWithDatabase } from "../../database.ts";
import { commandLine } from "../cli/run_in_process.ts";
import { archiveOf, reportOf } from "../report/archive/make_archive.ts";
import {
  addOrganization,
  addToken,
  createReceiver,
  formOf,
  type Receiver,
} from "./receive/receive.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";

/** A broken file next to a good report. */
interface Broken {
  kind: "report" | "coverage";
  file: string;
  text: string;
  /** The message about it, the same at each door. */
  message: RegExp;
  /** Of a response. */
  status: 400 | 413;
}

/**
 * Files of another kind and files that are cut off are not among them: what lies in a folder or an archive
 * may be left out.
 */
const BROKEN: Record<string, Broken> = {
  "a wrong end tag": {
    kind: "report",
    file: "b.xml",
    text: "<testsuite>\n<testcase></a>",
    message: /b\.xml:2:\d+: /,
    status: 400,
  },
  "suites without end": {
    kind: "report",
    file: "c.xml",
    text: "<testsuite>".repeat(1_100),
    message: /c\.xml:1:\d+: .* 1000 deep/,
    status: 413,
  },
  "a wrong line of lcov": {
    kind: "coverage",
    file: "lcov.info",
    text: "TN:\nSF:a\nDA:x\n",
    message: /lcov\.info:3/,
    status: 400,
  },
};

describeWithDatabase("an upload with a broken file", (database) => {
  const cli = commandLine(database);
  let folder = "";
  let token = "";
  let receiver: Receiver;

  before(async () => {
    const { sql } = database();
    token = await addToken(sql, await addOrganization(sql, "acme"));
    receiver = await createReceiver(sql);
    folder = await Deno.makeTempDir();
    await Deno.writeTextFile(join(folder, "a.xml"), reportOf("a"));
  });
  after(async () => {
    await receiver.close();
    await Deno.remove(folder, { recursive: true });
  });

  /** An archive in a folder of its own. */
  async function archive(repository: string, { kind, file, text }: Broken) {
    const path = join(await Deno.makeTempDir({ dir: folder }), "upload.gz");
    const broken = join(kind === "report" ? "test_results" : "coverage", file);
    const bytes = await archiveOf([
      ["buildpulse.yml", `:commit: ${SHA}\n:repo_name_with_owner: ${repository}\n`],
      ["test_results/a.xml", reportOf("a")],
      [broken, text],
    ]);
    await Deno.writeFile(path, bytes);
    await Deno.utime(path, 0, 0);
    return path;
  }

  /** Each door refuses the upload and returns what it says. */
  const doors: Record<string, (repository: string, broken: Broken) => Promise<string>> = {
    async "ingest of files"(repository, { kind, file, text }) {
      const path = join(folder, file);
      await Deno.writeTextFile(path, text);
      const files = kind === "report" ? [path] : ["--coverage", path];
      const facts = ["--org", "acme", "--repo", repository, "--commit", SHA];
      const { code, stderr } = await cli(["ingest", ...facts, join(folder, "a.xml"), ...files]);
      assert.equal(code, 1);
      return stderr;
    },
    async "ingest of an archive"(...upload) {
      const { code, stderr } = await cli(["ingest", "--org", "acme", await archive(...upload)]);
      assert.equal(code, 1);
      return stderr;
    },
    async watch(...upload) {
      const source = join(await archive(...upload), "..");
      const { code, stdout } = await cli(["watch", source, "--once", "--workers", "1"]);
      assert.equal(code, 1);
      assert.match(stdout, /^upload\.gz\tfailed\t/);
      return stdout;
    },
    async "a form over HTTP"(repository, { kind, file, text, status }) {
      const body = formOf([["report", "a.xml", reportOf("a")], [kind, file, text]]);
      const response = await receiver.send(`/upload/${repository}?commit=${SHA}`, token, { body });
      assert.equal(response.status, status);
      const { errors } = await response.json();
      assert.deepEqual(Object.keys(errors), [kind]);
      return errors[kind].join("\n");
    },
    async "an archive over HTTP"(repository, broken) {
      const body = await Deno.readFile(await archive(repository, broken));
      const response = await receiver.send(`/upload/${repository}`, token, { body });
      assert.equal(response.status, broken.status);
      const { errors } = await response.json();
      assert.deepEqual(Object.keys(errors), ["body"]);
      return errors.body.join("\n");
    },
  };

  for (const [what, broken] of Object.entries(BROKEN)) {
    for (const [door, refuse] of Object.entries(doors)) {
      it(`of ${what} is named by ${door}, and nothing is stored`, async () => {
        assert.match(await refuse(`acme/${broken.file}`, broken), broken.message);
        assert.deepEqual(await receiver.files(), []);
        const [row] = await database().sql<{ count: number }[]>`
          select count(*)::int from submission where status = 'processed'`;
        assert.equal(row!.count, 0);
      });
    }
  }
});
