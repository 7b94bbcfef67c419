import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

/** An address that leads to one server and later to another, as that of a fail-over. */
export async function startForwarder(port: number): Promise<Forwarder> {
  let target = port;
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    client.pipe(upstream).pipe(client);
    client.on("error", () => upstream.destroy());
    upstream.on("error", () => client.destroy());
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `postgres://postgres@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`,
    switchTo: (port) => target = port,
    close: () => server.close(),
  };
}

interface Forwarder {
  /** Of the database behind it. */
  url: string;
  /** From now on, new connections lead to this port. */
  switchTo(port: number): void;
  close(): void;
}
