/* A heat-equation solver on a 1-D strip decomposition: halo exchange, residual by Allreduce, checkpoints. The lab breaks it by faults.h. */
#include "faults.h"

#include <errno.h>
#include <math.h>
#include <time.h>

typedef struct { int cells, steps, every, save_every, pause; const char *restart, *folder; } Options;

static Options read_options(int argc, char **argv) {
    Options o = {4096, 200, 20, 100, 2, NULL, NULL};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--cells")) o.cells = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--steps")) o.steps = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--report")) o.every = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--save-every")) o.save_every = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--pause-ms")) o.pause = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--restart")) o.restart = argv[i + 1];
        if (!strcmp(argv[i], "--checkpoints")) o.folder = argv[i + 1];
    }
    return o;
}

void restart_from(const char *path, double *field, int cells, int rank) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "heat: rank %d: cannot open checkpoint %s: %s\n", rank, path, strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (fread(field, sizeof *field, cells, file) != (size_t)cells) {
        fprintf(stderr, "heat: ERROR: rank %d: checkpoint %s is truncated: unexpected end of file\n", rank, path);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    fclose(file);
}

void save(const char *folder, const double *field, int cells, int rank, int step) {
    char path[512];
    snprintf(path, sizeof path, "%s/heat-%06d.%d.bin", folder, step, rank);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(field, sizeof *field, cells, file) != (size_t)cells || fflush(file)) {
        fprintf(stderr, "heat: rank %d: writing checkpoint %s failed: %s\n", rank, path, strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    fclose(file);
    if (rank == 0) printf("step %6d  checkpoint written to %s\n", step, folder);
}

void exchange(double *field, int cells, int rank, int size, int step) {
    int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank ? rank - 1 : MPI_PROC_NULL;
    int sent = 1;
    if (fault_is("truncate", rank, step)) sent = 8;
    if (fault_is("bad_rank", rank, step)) up = size + 3;
    if (fault_is("bad_tag", rank, step)) MPI_Send(field, 1, MPI_DOUBLE, down, -7, MPI_COMM_WORLD);
    if (fault_is("bad_count", rank, step)) MPI_Send(field, -4, MPI_DOUBLE, down, 7, MPI_COMM_WORLD);
    if (fault_is("bad_comm", rank, step)) MPI_Barrier(MPI_COMM_NULL);
    if (fault_is("bad_type", rank, step)) MPI_Send(field, 1, MPI_DATATYPE_NULL, down, 7, MPI_COMM_WORLD);
    if (fault_is("recv_recv", rank, step)) MPI_Recv(field, 1, MPI_DOUBLE, (rank + 1) % size, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(field + 1, sent, MPI_DOUBLE, down, 1, field + cells + 1, 1, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(field + cells, 1, MPI_DOUBLE, up, 2, field, 1, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

double relax(double *field, double *next, int cells) {
    double change = 0;
    for (int i = 1; i <= cells; i++) {
        next[i] = field[i] + 0.25 * (field[i - 1] - 2 * field[i] + field[i + 1]);
        change += (next[i] - field[i]) * (next[i] - field[i]);
    }
    memcpy(field + 1, next + 1, cells * sizeof *field);
    return change;
}

void solve(Options o, double *field, double *next, int cells, int rank, int size) {
    struct timespec rest = {o.pause / 1000, o.pause % 1000 * 1000000L};
    for (int step = 1; step <= o.steps; step++) {
        fault_strikes(rank, step);
        exchange(field, cells, rank, size, step);
        double change = relax(field, next, cells), total = 0;
        if (fault_is("skip", rank, step)) MPI_Barrier(MPI_COMM_WORLD);
        if (fault_is("sleep", rank, step)) for (;;) pause();
        MPI_Allreduce(&change, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        nanosleep(&rest, NULL);
        if (rank == 0 && step % o.every == 0) { printf("step %6d  residual %.6e\n", step, sqrt(total)); fflush(stdout); }
        if (o.folder && step % o.save_every == 0) save(o.folder, field, cells, rank, step);
    }
}

int main(int argc, char **argv) {
    int rank, size;
    Options o = read_options(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int cells = o.cells / size;
    double *field = calloc(cells + 2, sizeof *field), *next = calloc(cells + 2, sizeof *next);
    if (rank == 0) {
        field[1] = 100.0;
        printf("heat 1.4: %d cells on %d ranks, %d steps, report every %d, checkpoint every %d\n", o.cells, size, o.steps, o.every, o.save_every);
        fflush(stdout);
    }
    if (o.restart) restart_from(o.restart, field, cells, rank);
    solve(o, field, next, cells, rank, size);
    if (rank == 0) printf("heat: %d steps done, 0 errors\n", o.steps);
    fflush(stdout);
    if (fault_is("no_finalize", rank, fault_number("LAB_STEP", 60))) exit(0);
    MPI_Finalize();
    return 0;
}
