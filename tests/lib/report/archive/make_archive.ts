import { gzipSync } from "node:zlib";
import { packTar, type TarHeader } from "modern-tar";
import type { ArchiveSource } from "../../../../lib/report/archive/mod.ts";

/** A tar of the given entries, in their order; a path may occur twice. */
export async function tarOf(
  entries: (readonly [path: string, text: string, header?: Partial<TarHeader>])[],
): Promise<Uint8Array<ArrayBuffer>> {
  const packed = await packTar(entries.map(([name, text, header]) => {
    const body = new TextEncoder().encode(text);
    return { header: { name, size: body.length, mtime: new Date(0), ...header }, body };
  }));
  return new Uint8Array(packed);
}

/** The same, gzip'd. */
export async function archiveOf(
  entries: (readonly [path: string, text: string, header?: Partial<TarHeader>])[],
): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(gzipSync(await tarOf(entries)));
}

/** Bytes as an archive that is called `build.gz`. */
export function sourceOf(bytes: Uint8Array, chunkBytes = 1_000): ArchiveSource {
  return {
    name: "build.gz",
    async *open() {
      for (let at = 0; at < bytes.length; at += chunkBytes) {
        yield bytes.subarray(at, at + chunkBytes);
      }
    },
  };
}

/** A report of one test that passed. */
export function reportOf(name: string, file = ""): string {
  const attribute = file === "" ? "" : ` file="${file}"`;
  return `<testsuite name="unit"><testcase classname="c" name="${name}"${attribute}/></testsuite>`;
}
