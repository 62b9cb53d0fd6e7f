/**
 * Work that lets connections come first. Node accepts one connection of each port in a turn of the event loop:
 * beside long turns, one that comes last waits for as many turns as connections came before it.
 */

/** Turns in which connections may come before work that waits for them. */
const MAX_TURNS = 16;

let numAccepted = 0;

/** Says that a connection came in this turn. */
export function connectionAccepted(): void {
  numAccepted++;
}

/** Calls `run` after a turn in which no connection came, or the sixteenth. */
export function afterConnections(run: () => void): void {
  let turns = 0;
  // Until this turn ends: connections that came before this call are no sign of others.
  let before = NaN;
  const look = (): void => {
    if (numAccepted === before || turns > MAX_TURNS) {
      run();
      return;
    }
    turns++;
    before = numAccepted;
    setImmediate(look);
  };
  setImmediate(look);
}
