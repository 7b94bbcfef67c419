/** A way to a server that can go silent, as a network or a machine does that is gone. */

/** A port on this machine behind which the server is. */
export interface Tunnel {
  port: number;
  /** From now on all packets are dropped silently. */
  freeze(): void;
  /** Connections that are made from now on work; the others stay silent. */
  letNewOnesThrough(): void;
  close(): Promise<void>;
}

/** Opens a tunnel to where the URL points. */
export async function startTunnel({ hostname, port }: URL): Promise<Tunnel> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const ends: Deno.Conn[] = [];
  const pumps: Promise<void>[] = [];
  /** Connections with an earlier number say nothing. */
  let firstAlive = 0;
  let count = 0;

  const pump = async (from: Deno.Conn, to: Deno.Conn, number: number) => {
    const buffer = new Uint8Array(65_536);
    try {
      for (;;) {
        const length = await from.read(buffer);
        if (number < firstAlive) {
          if (length === null) return;
          continue;
        }
        if (length === null) return to.close();
        for (let sent = 0; sent < length;) sent += await to.write(buffer.subarray(sent, length));
      }
    } catch {
      // The other side was closed.
    }
  };

  const accepting = (async () => {
    try {
      for await (const client of listener) {
        const server = await Deno.connect({ hostname, port: Number(port) });
        const number = count++;
        ends.push(client, server);
        pumps.push(pump(client, server, number), pump(server, client, number));
      }
    } catch {
      // Closed.
    }
  })();
  await Promise.resolve();
  return {
    port: listener.addr.port,
    freeze: () => void (firstAlive = Infinity),
    letNewOnesThrough: () => void (firstAlive = count),
    async close() {
      listener.close();
      await accepting;
      for (const end of ends) {
        try {
          end.close();
        } catch {
          // It is closed already.
        }
      }
      await Promise.all(pumps);
    },
  };
}
