import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "@std/testing/bdd";
import { join } from "node:path";
import { FilePieces } from "../../../lib/report/file_chunks.ts";

let folder = "";

before(async () => {
  folder = await Deno.makeTempDir();
});
after(() => Deno.remove(folder, { recursive: true }));

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function digestOfPieces(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of pieces) {
    hash.update(piece);
    // While a piece is worked on nobody may write over it.
    const before = digest(piece);
    await new Promise((resolve) => setTimeout(resolve, 2));
    assert.equal(digest(piece), before);
  }
  return hash.digest("hex");
}

describe("the pieces of a file", () => {
  const pieces = new FilePieces();

  for (const length of [0, 1, 262_144, 262_145, 1_000_000]) {
    it(`are all of its ${length} bytes`, async () => {
      const bytes = Uint8Array.from({ length }, (_, at) => at % 251);
      const path = join(folder, `${length}.xml`);
      await Deno.writeFile(path, bytes);
      assert.equal(await digestOfPieces(pieces.of(path)), digest(bytes));
    });
  }

  it("need not all be taken", async () => {
    const path = join(folder, "long.xml");
    await Deno.writeFile(path, new Uint8Array(1_000_000));
    for await (const piece of pieces.of(path)) {
      assert.ok(piece.length < 1_000_000);
      break;
    }
  });

  it("come from a pipe as they are written, which may not end when nobody wants more", async () => {
    const path = join(folder, "pipe");
    await new Deno.Command("mkfifo", { args: [path] }).output();
    const writing = Deno.open(path, { write: true });
    const iterator = pieces.of(path)[Symbol.asyncIterator]();
    const first = iterator.next();
    const writer = await writing;
    await writer.write(new TextEncoder().encode("<testsuites>"));
    assert.equal(new TextDecoder().decode((await first).value!), "<testsuites>");
    await iterator.return!();
    writer.close();
  });

  it("are refused where there are none", async () => {
    const read = (path: string) => digestOfPieces(pieces.of(path));
    await assert.rejects(read(join(folder, "nowhere.xml")), { kind: "not-found" });
    await assert.rejects(read(folder), { kind: "unreadable", message: /EISDIR/ });
  });
});
