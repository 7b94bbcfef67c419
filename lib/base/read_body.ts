import { isDoneWithin } from "./delay.ts";

/**
 * The body of a request or response, unless it has more bytes or takes longer. Nothing is read after that.
 *
 * @throws what the stream throws, such as a connection that was closed
 */
export async function readBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  { maxBytes, timeoutMs }: { maxBytes: number; timeoutMs?: number },
): Promise<Uint8Array<ArrayBuffer> | "too large" | "late"> {
  const reader = body?.getReader();
  const reading = readAll(reader, maxBytes);
  if (timeoutMs === undefined || await isDoneWithin(reading, timeoutMs)) return await reading;
  reader?.cancel().catch(() => {});
  return "late";
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | "too large"> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let byteCount = 0;
  for (let part = await reader?.read(); part && !part.done; part = await reader!.read()) {
    byteCount += part.value.length;
    if (byteCount > maxBytes) {
      await reader!.cancel();
      return "too large";
    }
    chunks.push(part.value);
  }
  return await new Blob(chunks).bytes();
}
