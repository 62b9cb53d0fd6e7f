/**
 * Connections that may wait to be accepted; the system's own limit (`net.core.somaxconn`) if that is less.
 * Beyond it a client's first packet is dropped, and sent again after a second. Node's default is 511.
 */
export const BACKLOG = 4096;
