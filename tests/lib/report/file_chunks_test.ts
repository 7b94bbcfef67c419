import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "@std/testing/bdd";
import { join } from "node:path";
import { readFileChunks } from "../../../lib/report/file_chunks.ts";

let folder = "";

before(async () => {
  folder = await Deno.makeTempDir();
});
after(() => Deno.remove(folder, { recursive: true }));

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function digestOfChunks(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
}

describe("the chunks of a file", () => {
  for (const length of [0, 1, 262_144, 262_145, 1_000_000]) {
    it(`are all of its ${length} bytes`, async () => {
      const bytes = Uint8Array.from({ length }, (_, at) => at % 251);
      const path = join(folder, `${length}.xml`);
      await Deno.writeFile(path, bytes);
      assert.equal(await digestOfChunks(readFileChunks(path)), digest(bytes));
    });
  }

  it("need not all be taken", async () => {
    const path = join(folder, "long.xml");
    await Deno.writeFile(path, new Uint8Array(1_000_000));
    for await (const chunk of readFileChunks(path)) {
      assert.ok(chunk.length < 1_000_000);
      break;
    }
  });

  it("come from a pipe as they are written, even if it does not end", async () => {
    const path = join(folder, "pipe");
    await new Deno.Command("mkfifo", { args: [path] }).output();
    const writing = Deno.open(path, { write: true });
    const iterator = readFileChunks(path)[Symbol.asyncIterator]();
    const first = iterator.next();
    const writer = await writing;
    await writer.write(new TextEncoder().encode("<testsuites>"));
    assert.equal(new TextDecoder().decode((await first).value!), "<testsuites>");
    await iterator.return!();
    writer.close();
  });

  it("are refused if there are none", async () => {
    const read = (path: string) => digestOfChunks(readFileChunks(path));
    await assert.rejects(read(join(folder, "nowhere.xml")), { kind: "not-found" });
    await assert.rejects(read(folder), { kind: "unreadable", message: /EISDIR/ });
  });
});
