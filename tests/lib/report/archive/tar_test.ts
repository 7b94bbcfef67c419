import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { packTar, type TarHeader, unpackTar } from "modern-tar";
import { readTar, writeTar } from "../../../../lib/report/archive/tar.ts";
import { Random } from "../../../../tools/measure/bench/random.ts";

type File = readonly [name: string, text: string];

const NAMES = [
  "a",
  "ä".repeat(50),
  "x".repeat(100),
  "x".repeat(101),
  `${"p".repeat(155)}/${"n".repeat(100)}`,
  `${"p".repeat(156)}/${"n".repeat(100)}`,
  `${"ordner/".repeat(60)}prüfung.xml`,
  `${"é/".repeat(70)}é`,
  "x".repeat(4_000),
];

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Uint8Array, chunkBytes = 10_000): Promise<File[]> {
  const files: File[] = [];
  for await (const { name, type, bytes: content } of readTar(inChunks(bytes, chunkBytes))) {
    const text = await new Response(ReadableStream.from(content)).text();
    if (type === "file") files.push([name, text]);
  }
  return files;
}

async function written(files: readonly File[]): Promise<Uint8Array> {
  const chunks = await Array.fromAsync(writeTar(files.map(([name, text]) => {
    const bytes = new TextEncoder().encode(text);
    return { name, size: bytes.length, modifiedAt: 1_780_000_000, bytes: [bytes] };
  })));
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** Written by another library. */
function packed(files: readonly File[], header: Partial<TarHeader> = {}): Promise<Uint8Array> {
  return packTar(files.map(([name, text]) => {
    const body = new TextEncoder().encode(text);
    return { header: { name, size: body.length, mtime: new Date(0), ...header }, body };
  }));
}

/** Read by another library. */
async function unpacked(bytes: Uint8Array): Promise<File[]> {
  const entries = await unpackTar(bytes, { strict: true });
  return entries.filter(({ header }) => header.type === "file")
    .map(({ header, data }) => [header.name, new TextDecoder().decode(data)]);
}

const FILES: File[] = NAMES.map((name, no) => [name, "content ".repeat(no * 300)]);

describe("a tar", () => {
  it("is read as it was written, at all chunk boundaries", async () => {
    const bytes = await written(FILES);
    for (const chunkBytes of [1, 511, 512, 513, 70_000, bytes.length]) {
      assert.deepEqual(await read(bytes, chunkBytes), FILES);
    }
  });

  it("is read by another library, and one of that library here", async () => {
    assert.deepEqual(await unpacked(await written(FILES)), FILES);
    assert.deepEqual(await read(await packed(FILES)), FILES);
  });

  it("is read in all forms that the tar of the system writes", async () => {
    const folder = await Deno.makeTempDir();
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await new Deno.Command("tar", { args, cwd: folder })
        .output();
      assert.equal(code, 0, new TextDecoder().decode(stderr));
      return stdout;
    };
    try {
      const name = `${"folder/".repeat(20)}${"long".repeat(30)}.xml`;
      await Deno.mkdir(join(folder, name, ".."), { recursive: true });
      await Deno.writeTextFile(join(folder, name), "<a/>");
      await Deno.symlink("/etc/passwd", join(folder, "folder/link"));
      for (const form of ["gnu", "oldgnu", "pax", "posix"]) {
        assert.deepEqual(await read(await run("-c", `--format=${form}`, "folder")), [[
          name,
          "<a/>",
        ]]);
      }
      await Deno.writeFile(join(folder, "ours.tar"), await written(FILES));
      const listed = new TextDecoder().decode(
        await run("-tf", "ours.tar", "--quoting-style=literal"),
      );
      assert.deepEqual(listed.trimEnd().split("\n"), NAMES);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("may have records for all entries, sizes in other notations, and links with a size", async () => {
    const global = await packed([["ignored", ""]], { pax: { path: "b" } });
    const file = await packed([["a", "text"]]);
    // The record of the first archive becomes a global one.
    global[156] = "g".charCodeAt(0);
    seal(global);
    assert.deepEqual(await read(joined(global.subarray(0, 1024), file)), [["b", "text"]]);

    const binary = file.slice();
    binary.set([0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4], 124);
    assert.deepEqual(await read(seal(binary)), [["a", "text"]]);

    const link = (await packed([["l", ""]], { type: "symlink", linkname: "a" })).slice(0, 512);
    link.set(new TextEncoder().encode("00000000777\0"), 124);
    assert.deepEqual(await read(joined(seal(link), file)), [["a", "text"]]);
  });

  it("that is damaged is refused, whatever was changed", async () => {
    const bytes = await written(FILES.slice(0, 3));
    const random = new Random(7);
    let refused = 0;
    for (let no = 0; no < 400; no++) {
      const changed = bytes.slice(0, random.below(2) ? bytes.length : random.below(bytes.length));
      for (let changes = random.below(4); changes >= 0; changes--) {
        changed[random.below(changed.length)] = random.below(256);
      }
      const [ours, theirs] = await Promise.allSettled([read(changed, 3_000), unpacked(changed)]);
      assert.equal(ours.status, theirs.status);
      if (ours.status === "rejected") refused++;
      else assert.deepEqual(ours, theirs);
    }
    assert.ok(refused > 100);
  });

  it("that ends early, or has records or numbers that make no sense, is refused", async () => {
    const file = await packed([["a", "text"]]);
    for (const length of [0, 100, 512, 515, 1_024, 1_100, 1_536, 1_600]) {
      await assert.rejects(read(file.subarray(0, length)), /unexpected end/);
    }
    await assert.rejects(read(joined(file, new TextEncoder().encode("x"))), /data after its end/);
    await assert.rejects(
      read(joined(file.subarray(0, 1_024), new Uint8Array(512), file)),
      /one block of zeros/,
    );
    const withSize = (bytes: Uint8Array) => {
      const changed = file.slice();
      changed.set(bytes, 124);
      return read(seal(changed));
    };
    await assert.rejects(withSize(new TextEncoder().encode("0000000000x\0")), /not octal/);
    await assert.rejects(withSize(new Uint8Array(12).fill(0xff)), /too large/);
    for (const record of ["", "9", "x path=b\n", "0 path=b\n", "99 path=b\n", "12 size=-1 \n"]) {
      const pax = await packed([["ignored", record.padEnd(20, "\0")]]);
      pax[156] = "x".charCodeAt(0);
      await assert.rejects(read(joined(seal(pax).subarray(0, 1024), file)), /pax record|size/);
    }
    const long = await packed([["ignored", "x".repeat(2_000_000)]]);
    long[156] = "L".charCodeAt(0);
    await assert.rejects(read(seal(long)), /2000000 bytes of metadata/);
  });
});

/** With the right checksum of its first header. */
function seal(tar: Uint8Array): Uint8Array {
  tar.fill(32, 148, 156);
  const sum = tar.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  tar.set(new TextEncoder().encode(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  return tar;
}

function joined(...parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
