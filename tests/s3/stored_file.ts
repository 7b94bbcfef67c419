import { createHash } from "node:crypto";
import type { StoredFile } from "../../lib/storage/storage.ts";

/** Writes a temporary file to put into a bucket. */
export async function storedFile(content: string | Uint8Array): Promise<StoredFile> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const path = await Deno.makeTempFile();
  await Deno.writeFile(path, bytes);
  return { path, size: bytes.length, digest: createHash("sha256").update(bytes).digest("hex") };
}
