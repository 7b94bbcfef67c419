/** A connection to the tools with a fake service. */
import { connect, type Connection } from "../connect.ts";
import { type FakeApi, startFakeApi } from "../../api_client/fake_api.ts";

const running: Array<FakeApi | Connection> = [];

/** Connects a client to the tools with a service of these responses. */
export async function over(answer: (request: Request) => Response | Promise<Response>) {
  const api = startFakeApi(answer);
  const connection = await connect(api.url);
  running.unshift(connection, api);
  return { api, ...connection };
}

/** The query of the last request. */
export function queryOf(api: FakeApi): URLSearchParams {
  return new URL(api.received.at(-1)?.url ?? "", api.url).searchParams;
}

/** The response of the service for an unknown resource. */
export const notFound = (): Response => Response.json({ message: "Not Found" }, { status: 404 });

/** Closes everything that `over` opened. */
export async function closeAll(): Promise<void> {
  for (const one of running.splice(0)) await one.close();
}
