/** HTTP/1.1 by hand, for requests that no client would send. */

import { Buffer } from "node:buffer";

/** A response as it came over the wire. */
interface RawResponse {
  status: number;
  headers: Headers;
  body: Uint8Array;
}

const encoder = new TextEncoder();

/**
 * Sends bytes and returns all that comes back until the server closes the connection, until it is enough, or
 * until some time has passed.
 */
export async function exchange(
  serverUrl: string,
  message: string | Uint8Array,
  { patienceMs = 5_000, isEnough = () => false }: {
    patienceMs?: number;
    isEnough?: (received: Uint8Array) => boolean;
  } = {},
): Promise<Uint8Array> {
  const { hostname, port } = new URL(serverUrl);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  let isOpen = true;
  const close = () => {
    if (isOpen) connection.close();
    isOpen = false;
  };
  const timer = setTimeout(close, patienceMs);
  let received: Uint8Array = new Uint8Array();
  // A server may refuse before it has read everything: that is no error here.
  const sending = sendAll(
    connection,
    typeof message === "string" ? encoder.encode(message) : message,
  )
    .catch(() => {});
  try {
    const buffer = new Uint8Array(65_536);
    for (;;) {
      const count = await connection.read(buffer);
      if (count === null) break;
      received = Buffer.concat([received, buffer.subarray(0, count)]);
      if (isEnough(received)) break;
    }
  } catch {
    // Closed by us, or reset by the server: what came before it counts.
  } finally {
    clearTimeout(timer);
    close();
    await sending;
  }
  return received;
}

/** Reads one response that ends with its connection; `null` when there is none. */
export function parseResponse(bytes: Uint8Array): RawResponse | null {
  // One character for each byte, so that places in the text are places in the bytes.
  const text = new TextDecoder("latin1").decode(bytes);
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = text.slice(0, end < 0 ? 0 : end).split("\r\n");
  const status = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine)?.[1];
  if (status === undefined) return null;
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return { status: Number(status), headers, body: bytes.slice(end + 4) };
}

async function sendAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await connection.write(bytes.subarray(sent));
}
