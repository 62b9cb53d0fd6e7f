/** A JSON object that is sent as it is. */
export type JsonObject = Readonly<Record<string, unknown>>;
