/**
 * The body of a request or response, unless it has more bytes or takes longer. Nothing is read after that.
 *
 * @throws what the stream throws, such as a connection that was closed
 */
export async function readBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  { maxBytes, timeoutMs }: { maxBytes: number; timeoutMs?: number },
): Promise<Uint8Array<ArrayBuffer> | "too large" | "late"> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const reader = body?.getReader();
  let byteCount = 0;
  let isLate = false;
  const timer = timeoutMs !== undefined && setTimeout(() => {
    isLate = true;
    reader?.cancel().catch(() => {});
  }, timeoutMs);
  try {
    for (let part = await reader?.read(); part && !part.done; part = await reader!.read()) {
      byteCount += part.value.length;
      if (byteCount > maxBytes) {
        await reader!.cancel();
        return "too large";
      }
      chunks.push(part.value);
    }
    return isLate ? "late" : await new Blob(chunks).bytes();
  } finally {
    if (timer) clearTimeout(timer);
  }
}
