/** Load by hand, which never tries again by itself as clients do: it tells what was really lost. */

/** What became of the requests. */
export interface LoadOutcome {
  /** Answers by status. */
  statuses: Record<string, number>;
  /** Requests that were sent and got no whole answer. */
  lost: number;
  /** Connections that an answer closed, and that were made again. */
  moved: number;
  /** Connections that were refused. */
  refused: number;
}

/**
 * Asks for one path again and again, each connection for one answer after the other.
 *
 * @param options.isEachNew a connection for every request
 */
export async function keepAsking(
  url: string,
  { path, token, connections, seconds, isEachNew = false }: {
    path: string;
    token: string;
    connections: number;
    seconds: number;
    isEachNew?: boolean;
  },
): Promise<LoadOutcome> {
  const { hostname, port } = new URL(url);
  const outcome: LoadOutcome = { statuses: {}, lost: 0, moved: 0, refused: 0 };
  const message = new TextEncoder().encode(
    `GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n` +
      `${isEachNew ? "connection: close\r\n" : ""}\r\n`,
  );
  const until = performance.now() + seconds * 1000;
  const client = async () => {
    while (performance.now() < until) {
      let connection: Deno.TcpConn;
      try {
        connection = await Deno.connect({ hostname, port: Number(port) });
      } catch {
        outcome.refused++;
        // Who is refused at once would be so thousands of times a second.
        await new Promise((resolve) => setTimeout(resolve, 10));
        continue;
      }
      try {
        while (performance.now() < until) {
          await connection.write(message);
          const { status, isLast } = await readAnswer(connection);
          outcome.statuses[status] = (outcome.statuses[status] ?? 0) + 1;
          if (!isLast) continue;
          outcome.moved++;
          break;
        }
      } catch {
        outcome.lost++;
      } finally {
        connection.close();
      }
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  return outcome;
}

/** @throws {Error} when the connection ends before the answer does */
async function readAnswer(connection: Deno.TcpConn): Promise<{ status: string; isLast: boolean }> {
  const buffer = new Uint8Array(16_384);
  const decoder = new TextDecoder("latin1");
  let text = "";
  for (;;) {
    const count = await connection.read(buffer);
    if (count === null) throw new Error(`the connection ended after ${text.length} bytes`);
    text += decoder.decode(buffer.subarray(0, count));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    const head = text.slice(0, end + 2);
    const length = Number(/\r\ncontent-length: (\d+)\r\n/i.exec(head)?.[1] ?? 0);
    if (text.length < end + 4 + length) continue;
    return {
      status: head.split(" ")[1] ?? "",
      isLast: /\r\nconnection: close\r\n/i.test(head),
    };
  }
}
