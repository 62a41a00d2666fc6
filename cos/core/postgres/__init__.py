"""Postgres: the only package that imports psycopg. Repositories with one query a method; statements live in `sql/`."""
