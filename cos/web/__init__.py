"""The dashboard: the running core in a browser, over HTTP and one WebSocket. PROTOCOL.md says what is spoken."""
